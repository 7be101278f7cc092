CREATE TABLE `card_customers` (
	`user_id` text PRIMARY KEY NOT NULL,
	`customer_id` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `card_customers_customerId_unique` ON `card_customers` (`customer_id`);--> statement-breakpoint
CREATE TABLE `card_events` (
	`id` text PRIMARY KEY NOT NULL,
	`type` text NOT NULL,
	`outcome` text NOT NULL,
	`received_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `card_events_by_time` ON `card_events` (`received_at`);--> statement-breakpoint
CREATE TABLE `card_subscriptions` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`purpose` text NOT NULL,
	`plan` text,
	`state` text NOT NULL,
	`is_ending` integer NOT NULL,
	`paid_until` integer,
	`past_due_since` integer,
	`grace_ends_at` integer,
	`told_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "card_subscriptions_purpose" CHECK("card_subscriptions"."purpose" IN ('plan', 'storage')),
	CONSTRAINT "card_subscriptions_state" CHECK("card_subscriptions"."state" IN ('active', 'past_due', 'ended')),
	CONSTRAINT "card_subscriptions_plan" CHECK("card_subscriptions"."plan" IN ('solo', 'collective', 'label', 'network'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `card_subscriptions_by_user` ON `card_subscriptions` (`user_id`);--> statement-breakpoint
CREATE INDEX `card_subscriptions_by_grace` ON `card_subscriptions` (`grace_ends_at`);--> statement-breakpoint
CREATE TABLE `receipts` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text,
	`cause` text NOT NULL,
	`what` text NOT NULL,
	`method` text NOT NULL,
	`amount_micros` integer NOT NULL,
	`currency` text NOT NULL,
	`reference` text,
	`payer` text,
	`refunded_micros` integer DEFAULT 0 NOT NULL,
	`refund_reason` text,
	`created_at` integer NOT NULL,
	CONSTRAINT "receipts_method" CHECK("receipts"."method" IN ('card', 'credits', 'mpp', 'x402')),
	CONSTRAINT "receipts_currency" CHECK("receipts"."currency" IN ('USD', 'GBP', 'USDC', 'pathUSD')),
	CONSTRAINT "receipts_refund" CHECK("receipts"."refunded_micros" BETWEEN 0 AND "receipts"."amount_micros")
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `receipts_cause_unique` ON `receipts` (`cause`);--> statement-breakpoint
CREATE INDEX `receipts_by_user` ON `receipts` (`user_id`,`created_at`);--> statement-breakpoint
ALTER TABLE `user_storage` ADD `granted_bytes` integer DEFAULT 0 NOT NULL;