CREATE TABLE `request_bodies` (
	`generation_id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`request` text NOT NULL,
	`answer` text,
	`created_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `request_bodies_by_user` ON `request_bodies` (`user_id`);--> statement-breakpoint
CREATE INDEX `request_bodies_by_time` ON `request_bodies` (`created_at`);--> statement-breakpoint
CREATE TABLE `usage_end_user_months` (
	`user_id` text NOT NULL,
	`key_id` text NOT NULL,
	`month` text NOT NULL,
	`end_user` text NOT NULL,
	`tokens` integer NOT NULL,
	`cost_micro_usd` integer NOT NULL,
	`calls` integer NOT NULL,
	PRIMARY KEY(`user_id`, `key_id`, `month`, `end_user`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `usage_end_user_months_by_month` ON `usage_end_user_months` (`month`);--> statement-breakpoint
CREATE TABLE `usage_tags` (
	`log_id` integer NOT NULL,
	`tag` text NOT NULL,
	`user_id` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`log_id`, `tag`),
	FOREIGN KEY (`log_id`) REFERENCES `usage_logs`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `usage_tags_by_tag` ON `usage_tags` (`user_id`,`tag`,`created_at`,`log_id`);--> statement-breakpoint
ALTER TABLE `api_keys` ADD `log_bodies` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `end_user_budget_micro_usd` integer;--> statement-breakpoint
ALTER TABLE `agents` ADD `log_bodies` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_logs` ADD `cached_input_tokens` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_logs` ADD `first_token_ms` integer;--> statement-breakpoint
ALTER TABLE `usage_logs` ADD `price_source` text;--> statement-breakpoint
ALTER TABLE `usage_logs` ADD `finish_reason` text;--> statement-breakpoint
ALTER TABLE `usage_logs` ADD `call_id` text;--> statement-breakpoint
ALTER TABLE `usage_logs` ADD `trail` text;--> statement-breakpoint
ALTER TABLE `usage_logs` ADD `end_user` text;--> statement-breakpoint
ALTER TABLE `usage_logs` ADD `tags` text;--> statement-breakpoint
CREATE INDEX `usage_logs_by_model` ON `usage_logs` (`user_id`,`model`,`created_at`);--> statement-breakpoint
CREATE INDEX `usage_logs_by_agent` ON `usage_logs` (`user_id`,`agent_id`,`created_at`) WHERE agent_id <> 'direct';--> statement-breakpoint
CREATE INDEX `usage_logs_by_key` ON `usage_logs` (`user_id`,`key_id`,`created_at`) WHERE key_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `usage_logs_by_end_user` ON `usage_logs` (`user_id`,`end_user`,`created_at`) WHERE end_user IS NOT NULL;--> statement-breakpoint
CREATE INDEX `usage_logs_failed` ON `usage_logs` (`user_id`,`created_at`) WHERE success = 0;--> statement-breakpoint
CREATE INDEX `usage_logs_by_call` ON `usage_logs` (`call_id`) WHERE call_id IS NOT NULL;