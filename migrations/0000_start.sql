CREATE TABLE `sessions` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `sessions_by_user` ON `sessions` (`user_id`);--> statement-breakpoint
CREATE INDEX `sessions_by_expiry` ON `sessions` (`expires_at`);--> statement-breakpoint
CREATE TABLE `users` (
	`id` text PRIMARY KEY NOT NULL,
	`email` text NOT NULL,
	`name` text NOT NULL,
	`password_hash` text,
	`plan` text DEFAULT 'free' NOT NULL,
	`subscription_status` text DEFAULT 'inactive' NOT NULL,
	`subscription_id` text,
	`credits` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	CONSTRAINT "users_email_is_lower_case" CHECK("users"."email" = lower("users"."email")),
	CONSTRAINT "users_plan" CHECK("users"."plan" IN ('free', 'solo', 'collective', 'label', 'network')),
	CONSTRAINT "users_subscription_status" CHECK("users"."subscription_status" IN ('inactive', 'active', 'past_due', 'canceled'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `users_email_unique` ON `users` (`email`);--> statement-breakpoint
CREATE TABLE `agents` (
	`id` text PRIMARY KEY NOT NULL,
	`owner_id` text,
	`name` text NOT NULL,
	`model` text NOT NULL,
	`plan` text NOT NULL,
	`ai_provider` text NOT NULL,
	`status` text NOT NULL,
	`port` integer,
	`gateway_token` text NOT NULL,
	`access_token` text NOT NULL,
	`access_token_hash` text NOT NULL,
	`started_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "agents_status" CHECK("agents"."status" IN ('pending', 'provisioning', 'running', 'stopped', 'error', 'unknown'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `agents_port_unique` ON `agents` (`port`);--> statement-breakpoint
CREATE UNIQUE INDEX `agents_accessTokenHash_unique` ON `agents` (`access_token_hash`);--> statement-breakpoint
CREATE INDEX `agents_by_owner` ON `agents` (`owner_id`);--> statement-breakpoint
CREATE TABLE `messages` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`sender` text NOT NULL,
	`content` text NOT NULL,
	`topic` text,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "messages_sender" CHECK("messages"."sender" IN ('user', 'agent')),
	CONSTRAINT "messages_status" CHECK("messages"."status" IN ('sent', 'failed'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `messages_id_unique` ON `messages` (`id`);--> statement-breakpoint
CREATE INDEX `messages_by_agent` ON `messages` (`user_id`,`agent_id`,`sequence`);--> statement-breakpoint
CREATE TABLE `deployments` (
	`agent_id` text PRIMARY KEY NOT NULL,
	`step` text NOT NULL,
	`error` text,
	`requested_at` integer NOT NULL,
	`finished_at` integer,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "deployments_step" CHECK("deployments"."step" IN ('queued', 'port', 'starting', 'health', 'running', 'failed'))
) STRICT;
--> statement-breakpoint
CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`name` text NOT NULL,
	`prefix` text NOT NULL,
	`hash` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_hash_unique` ON `api_keys` (`hash`);--> statement-breakpoint
CREATE INDEX `api_keys_by_user` ON `api_keys` (`user_id`);--> statement-breakpoint
CREATE INDEX `api_keys_by_prefix` ON `api_keys` (`prefix`);--> statement-breakpoint
CREATE TABLE `usage_days` (
	`user_id` text NOT NULL,
	`day` text NOT NULL,
	`agent_id` text NOT NULL,
	`model` text NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cost_micro_usd` integer NOT NULL,
	`calls` integer NOT NULL,
	PRIMARY KEY(`user_id`, `day`, `agent_id`, `model`)
) STRICT;
--> statement-breakpoint
CREATE TABLE `usage_logs` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`model` text NOT NULL,
	`input_tokens` integer DEFAULT 0 NOT NULL,
	`output_tokens` integer DEFAULT 0 NOT NULL,
	`cost_micro_usd` integer DEFAULT 0 NOT NULL,
	`endpoint` text,
	`latency_ms` integer,
	`success` integer DEFAULT true NOT NULL,
	`error_message` text,
	`created_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `usage_logs_by_user` ON `usage_logs` (`user_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `usage_months` (
	`user_id` text NOT NULL,
	`month` text NOT NULL,
	`tokens` integer NOT NULL,
	PRIMARY KEY(`user_id`, `month`)
) STRICT;
--> statement-breakpoint
CREATE TABLE `jobs` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`key` text,
	`payload` text NOT NULL,
	`status` text NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`run_at` integer NOT NULL,
	`lease_token` text,
	`lease_until` integer,
	`last_error` text,
	`created_at` integer NOT NULL,
	`finished_at` integer,
	CONSTRAINT "jobs_status" CHECK("jobs"."status" IN ('queued', 'running', 'done', 'dead'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `jobs_due` ON `jobs` (`status`,`run_at`);--> statement-breakpoint
CREATE UNIQUE INDEX `jobs_unfinished_key` ON `jobs` (`key`,`status`) WHERE "jobs"."key" is not null;