CREATE TABLE `managed_wallets` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`user_id` text,
	`agent_id` text,
	`address` text NOT NULL,
	`sealed_key` text NOT NULL,
	`per_payment_micro_usd` integer,
	`per_day_micro_usd` integer,
	`per_month_micro_usd` integer,
	`approval_above_micro_usd` integer,
	`recipients` text,
	`frozen_at` integer,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "managed_wallets_kind" CHECK("managed_wallets"."kind" IN ('user', 'agent')),
	CONSTRAINT "managed_wallets_lower_case" CHECK("managed_wallets"."address" = lower("managed_wallets"."address"))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `managed_wallets_address_unique` ON `managed_wallets` (`address`);--> statement-breakpoint
CREATE UNIQUE INDEX `managed_wallets_of_agent` ON `managed_wallets` (`agent_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `managed_wallets_of_user` ON `managed_wallets` (`user_id`) WHERE kind = 'user';--> statement-breakpoint
CREATE INDEX `managed_wallets_by_user` ON `managed_wallets` (`user_id`);--> statement-breakpoint
CREATE TABLE `wallet_payments` (
	`id` text PRIMARY KEY NOT NULL,
	`wallet_id` text,
	`user_id` text,
	`agent_id` text,
	`kind` text NOT NULL,
	`purpose` text NOT NULL,
	`reference` text NOT NULL,
	`request_hash` text,
	`currency` text NOT NULL,
	`chain_id` integer,
	`recipient` text NOT NULL,
	`amount_micro_usd` integer NOT NULL,
	`status` text NOT NULL,
	`reason` text,
	`keeps_trying` integer DEFAULT false NOT NULL,
	`approval_expires_at` integer,
	`decided_by` text,
	`from_address` text,
	`nonce` integer,
	`raw_transaction` text,
	`transaction_hash` text,
	`block_number` integer,
	`block_hash` text,
	`undone_at` integer,
	`detail` text DEFAULT '{}' NOT NULL,
	`check_at` integer,
	`checks` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`sent_at` integer,
	`settled_at` integer,
	`final_at` integer,
	FOREIGN KEY (`wallet_id`) REFERENCES `managed_wallets`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "wallet_payments_kind" CHECK("wallet_payments"."kind" IN ('transfer', 'upstream', 'authorization')),
	CONSTRAINT "wallet_payments_status" CHECK("wallet_payments"."status" IN ('awaiting_approval', 'created', 'sent', 'succeeded', 'failed', 'unknown', 'denied')),
	CONSTRAINT "wallet_payments_positive" CHECK("wallet_payments"."amount_micro_usd" > 0)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `wallet_payments_reference_unique` ON `wallet_payments` (`reference`);--> statement-breakpoint
CREATE UNIQUE INDEX `wallet_payments_nonce` ON `wallet_payments` (`chain_id`,`from_address`,`nonce`);--> statement-breakpoint
CREATE INDEX `wallet_payments_by_wallet` ON `wallet_payments` (`wallet_id`,`created_at`,`status`,`amount_micro_usd`);--> statement-breakpoint
CREATE INDEX `wallet_payments_by_user` ON `wallet_payments` (`user_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `wallet_payments_by_agent` ON `wallet_payments` (`agent_id`);--> statement-breakpoint
CREATE INDEX `wallet_payments_by_check` ON `wallet_payments` (`check_at`);