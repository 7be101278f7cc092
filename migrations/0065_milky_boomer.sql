CREATE TABLE `plans` (
	`name` text PRIMARY KEY NOT NULL,
	`models` text,
	`agents` integer,
	`skills` integer,
	`messages_per_day` integer,
	`tokens_per_month` integer,
	`usd_per_month` real,
	`storage_gb` real NOT NULL,
	`source` text NOT NULL,
	`updated_at` integer NOT NULL,
	CONSTRAINT "plans_source" CHECK("plans"."source" IN ('file', 'dashboard'))
) STRICT;
--> statement-breakpoint
PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_users` (
	`id` text PRIMARY KEY NOT NULL,
	`email` text NOT NULL,
	`name` text NOT NULL,
	`password_hash` text,
	`is_admin` integer DEFAULT false NOT NULL,
	`plan` text DEFAULT 'free' NOT NULL,
	`subscription_status` text DEFAULT 'inactive' NOT NULL,
	`subscription_id` text,
	`credits` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`email_verified_at` integer,
	`notifications` text DEFAULT '{}' NOT NULL,
	`time_zone` text,
	`referral_code` text,
	`two_factor_secret` text,
	`two_factor_enabled_at` integer,
	`two_factor_step` integer DEFAULT 0 NOT NULL,
	`disabled_at` integer,
	`external_sign_in_disabled_at` integer,
	CONSTRAINT "users_email_is_lower_case" CHECK("__new_users"."email" = lower("__new_users"."email")),
	CONSTRAINT "users_subscription_status" CHECK("__new_users"."subscription_status" IN ('inactive', 'active', 'past_due', 'canceled'))
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_users`("id", "email", "name", "password_hash", "is_admin", "plan", "subscription_status", "subscription_id", "credits", "created_at", "updated_at", "email_verified_at", "notifications", "time_zone", "referral_code", "two_factor_secret", "two_factor_enabled_at", "two_factor_step", "disabled_at", "external_sign_in_disabled_at") SELECT "id", "email", "name", "password_hash", "is_admin", "plan", "subscription_status", "subscription_id", "credits", "created_at", "updated_at", "email_verified_at", "notifications", "time_zone", "referral_code", "two_factor_secret", "two_factor_enabled_at", "two_factor_step", "disabled_at", "external_sign_in_disabled_at" FROM `users`;--> statement-breakpoint
DROP TABLE `users`;--> statement-breakpoint
ALTER TABLE `__new_users` RENAME TO `users`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE UNIQUE INDEX `users_email_unique` ON `users` (`email`);--> statement-breakpoint
CREATE UNIQUE INDEX `users_referralCode_unique` ON `users` (`referral_code`);--> statement-breakpoint
CREATE INDEX `users_by_time` ON `users` (`created_at`,`id`);--> statement-breakpoint
ALTER TABLE `usage_months` ADD `cost_micro_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `invites` ADD `plan` text;