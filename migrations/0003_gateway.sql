CREATE TABLE `provider_keys` (
	`user_id` text NOT NULL,
	`provider` text NOT NULL,
	`sealed_key` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`user_id`, `provider`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `tool_events` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text,
	`session_id` text,
	`tool_name` text NOT NULL,
	`success` integer NOT NULL,
	`duration_ms` integer,
	`created_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `tool_events_by_time` ON `tool_events` (`created_at`);--> statement-breakpoint
CREATE INDEX `tool_events_by_user` ON `tool_events` (`user_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `usage_alerts` (
	`subject` text NOT NULL,
	`month` text NOT NULL,
	`percent` integer NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`subject`, `month`, `percent`)
) STRICT;
--> statement-breakpoint
CREATE TABLE `usage_key_months` (
	`key_id` text NOT NULL,
	`month` text NOT NULL,
	`tokens` integer NOT NULL,
	`cost_micro_usd` integer NOT NULL,
	`calls` integer NOT NULL,
	PRIMARY KEY(`key_id`, `month`)
) STRICT;
--> statement-breakpoint
PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_usage_days` (
	`user_id` text NOT NULL,
	`day` text NOT NULL,
	`agent_id` text NOT NULL,
	`model` text NOT NULL,
	`provider` text DEFAULT '' NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cost_micro_usd` integer NOT NULL,
	`calls` integer NOT NULL,
	PRIMARY KEY(`user_id`, `day`, `agent_id`, `model`, `provider`)
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_usage_days`("user_id", "day", "agent_id", "model", "provider", "input_tokens", "output_tokens", "cost_micro_usd", "calls") SELECT "user_id", "day", "agent_id", "model", '', "input_tokens", "output_tokens", "cost_micro_usd", "calls" FROM `usage_days`;--> statement-breakpoint
DROP TABLE `usage_days`;--> statement-breakpoint
ALTER TABLE `__new_usage_days` RENAME TO `usage_days`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE INDEX `usage_days_by_day` ON `usage_days` (`day`);--> statement-breakpoint
ALTER TABLE `api_keys` ADD `budget_micro_usd` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `tokens_per_month` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `models` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `requests_per_minute` integer;--> statement-breakpoint
ALTER TABLE `usage_logs` ADD `generation_id` text;--> statement-breakpoint
ALTER TABLE `usage_logs` ADD `provider` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_logs` ADD `key_id` text;--> statement-breakpoint
ALTER TABLE `usage_logs` ADD `attempts` integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_logs` ADD `is_own_key` integer DEFAULT false NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `usage_logs_generationId_unique` ON `usage_logs` (`generation_id`);