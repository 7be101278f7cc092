CREATE TABLE `email_tokens` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`purpose` text NOT NULL,
	`email` text NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "email_tokens_purpose" CHECK("email_tokens"."purpose" IN ('reset-password', 'verify-email', 'change-email'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `email_tokens_by_user` ON `email_tokens` (`user_id`);--> statement-breakpoint
CREATE TABLE `recovery_codes` (
	`code_hash` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `recovery_codes_by_user` ON `recovery_codes` (`user_id`);--> statement-breakpoint
CREATE TABLE `referrals` (
	`new_user_id` text PRIMARY KEY NOT NULL,
	`referrer_id` text NOT NULL,
	`credits` integer NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`new_user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `throttles` (
	`key` text PRIMARY KEY NOT NULL,
	`count` integer NOT NULL,
	`reset_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `throttles_by_reset` ON `throttles` (`reset_at`);--> statement-breakpoint
CREATE TABLE `audit_log` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`actor` text NOT NULL,
	`action` text NOT NULL,
	`target` text NOT NULL,
	`detail` text DEFAULT '{}' NOT NULL,
	`address` text,
	`created_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `audit_log_by_target` ON `audit_log` (`target`);--> statement-breakpoint
CREATE INDEX `audit_log_by_time` ON `audit_log` (`created_at`);--> statement-breakpoint
CREATE TABLE `invites` (
	`code_hash` text PRIMARY KEY NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`used_at` integer
) STRICT;
--> statement-breakpoint
CREATE TABLE `security_events` (
	`issuer` text NOT NULL,
	`jti` text NOT NULL,
	`claims` text NOT NULL,
	`received_at` integer NOT NULL,
	`handled_at` integer,
	`outcome` text,
	PRIMARY KEY(`issuer`, `jti`)
) STRICT;
--> statement-breakpoint
CREATE TABLE `identities` (
	`issuer` text NOT NULL,
	`subject` text NOT NULL,
	`user_id` text NOT NULL,
	`provider` text NOT NULL,
	`email` text NOT NULL,
	`refresh_token` text,
	`refresh_token_hash` text,
	`created_at` integer NOT NULL,
	`last_used_at` integer NOT NULL,
	PRIMARY KEY(`issuer`, `subject`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "identities_provider" CHECK("identities"."provider" IN ('idp-a', 'idp-b'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `identities_by_user` ON `identities` (`user_id`);--> statement-breakpoint
CREATE INDEX `identities_by_refresh_token` ON `identities` (`refresh_token_hash`);--> statement-breakpoint
CREATE TABLE `sign_in_attempts` (
	`state_hash` text PRIMARY KEY NOT NULL,
	`provider` text NOT NULL,
	`browser_hash` text NOT NULL,
	`secrets` text NOT NULL,
	`expires_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `sign_in_attempts_by_expiry` ON `sign_in_attempts` (`expires_at`);--> statement-breakpoint
CREATE TABLE `wallet_nonces` (
	`nonce` text PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `wallet_nonces_by_expiry` ON `wallet_nonces` (`expires_at`);--> statement-breakpoint
CREATE TABLE `sign_in_wallets` (
	`chain_id` integer NOT NULL,
	`address` text NOT NULL,
	`user_id` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`chain_id`, `address`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `sign_in_wallets_by_user` ON `sign_in_wallets` (`user_id`);--> statement-breakpoint
ALTER TABLE `sessions` ADD `last_seen_at` integer;--> statement-breakpoint
ALTER TABLE `sessions` ADD `user_agent` text;--> statement-breakpoint
ALTER TABLE `sessions` ADD `address` text;--> statement-breakpoint
ALTER TABLE `users` ADD `email_verified_at` integer;--> statement-breakpoint
ALTER TABLE `users` ADD `notifications` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `referral_code` text;--> statement-breakpoint
ALTER TABLE `users` ADD `two_factor_secret` text;--> statement-breakpoint
ALTER TABLE `users` ADD `two_factor_enabled_at` integer;--> statement-breakpoint
ALTER TABLE `users` ADD `two_factor_step` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `disabled_at` integer;--> statement-breakpoint
ALTER TABLE `users` ADD `external_sign_in_disabled_at` integer;--> statement-breakpoint
CREATE UNIQUE INDEX `users_referralCode_unique` ON `users` (`referral_code`);--> statement-breakpoint
ALTER TABLE `api_keys` ADD `scopes` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `expires_at` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `disabled_at` integer;