CREATE TABLE `booking_rules` (
	`booking_id` text PRIMARY KEY NOT NULL,
	`rules` text NOT NULL,
	FOREIGN KEY (`booking_id`) REFERENCES `bookings`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `escrows` (
	`booking_id` text PRIMARY KEY NOT NULL,
	`payer_id` text,
	`amount_micro_usd` integer NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`ended_at` integer,
	FOREIGN KEY (`booking_id`) REFERENCES `bookings`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`payer_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "escrows_status" CHECK("escrows"."status" IN ('held', 'released', 'refunded')),
	CONSTRAINT "escrows_positive" CHECK("escrows"."amount_micro_usd" > 0)
) STRICT;
--> statement-breakpoint
CREATE INDEX `escrows_by_payer` ON `escrows` (`payer_id`);--> statement-breakpoint
CREATE TABLE `tickets` (
	`id` text PRIMARY KEY NOT NULL,
	`event_id` integer,
	`event_name` text NOT NULL,
	`buyer_id` text,
	`organiser_id` text,
	`email` text,
	`price_micro_usd` integer NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`refunded_at` integer,
	FOREIGN KEY (`event_id`) REFERENCES `underground_events`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`buyer_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`organiser_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "tickets_status" CHECK("tickets"."status" IN ('valid', 'refunded'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `tickets_by_event` ON `tickets` (`event_id`);--> statement-breakpoint
CREATE INDEX `tickets_by_buyer` ON `tickets` (`buyer_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `tickets_by_organiser` ON `tickets` (`organiser_id`);--> statement-breakpoint
CREATE TABLE `house_wallets` (
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`wallet_id` text NOT NULL,
	PRIMARY KEY(`user_id`, `agent_id`),
	FOREIGN KEY (`wallet_id`) REFERENCES `managed_wallets`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `house_wallets_by_wallet` ON `house_wallets` (`wallet_id`);--> statement-breakpoint
CREATE TABLE `royalty_parts` (
	`split_id` integer NOT NULL,
	`position` integer NOT NULL,
	`address` text NOT NULL,
	`name` text,
	`share_millionths` integer NOT NULL,
	`amount_micro_usd` integer NOT NULL,
	`is_skipped` integer NOT NULL,
	`payment_id` text,
	`failure` text,
	PRIMARY KEY(`split_id`, `position`),
	FOREIGN KEY (`split_id`) REFERENCES `royalty_splits`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`payment_id`) REFERENCES `wallet_payments`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "royalty_parts_not_negative" CHECK("royalty_parts"."amount_micro_usd" >= 0)
) STRICT;
--> statement-breakpoint
CREATE INDEX `royalty_parts_by_payment` ON `royalty_parts` (`payment_id`);--> statement-breakpoint
CREATE TABLE `royalty_splits` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`owner_id` text,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`from_address` text NOT NULL,
	`wallet_id` text,
	`name` text NOT NULL,
	`trigger` text DEFAULT 'manual' NOT NULL,
	`total_micro_usd` integer NOT NULL,
	`status` text NOT NULL,
	`reason` text,
	`is_held` integer DEFAULT false NOT NULL,
	`check_at` integer,
	`created_at` integer NOT NULL,
	`completed_at` integer,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`wallet_id`) REFERENCES `managed_wallets`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "royalty_splits_status" CHECK("royalty_splits"."status" IN ('queued', 'processing', 'settled', 'partially_settled', 'failed')),
	CONSTRAINT "royalty_splits_positive" CHECK("royalty_splits"."total_micro_usd" > 0)
) STRICT;
--> statement-breakpoint
CREATE INDEX `royalty_splits_by_owner` ON `royalty_splits` (`owner_id`,`id`);--> statement-breakpoint
CREATE INDEX `royalty_splits_by_wallet` ON `royalty_splits` (`wallet_id`);--> statement-breakpoint
CREATE INDEX `royalty_splits_by_check` ON `royalty_splits` (`check_at`);--> statement-breakpoint
CREATE TABLE `split_rules` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`address` text NOT NULL,
	`name` text NOT NULL,
	`role` text NOT NULL,
	`share_millionths` integer NOT NULL,
	`minimum_micro_usd` integer NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `split_rules_by_user` ON `split_rules` (`user_id`);