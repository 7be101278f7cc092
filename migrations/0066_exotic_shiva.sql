CREATE TABLE `model_prices` (
	`model` text PRIMARY KEY NOT NULL,
	`input_usd_per_million` real NOT NULL,
	`output_usd_per_million` real NOT NULL,
	`cached_input_usd_per_million` real,
	`updated_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
ALTER TABLE `usage_days` ADD `unpriced_calls` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_days` ADD `own_key_cost_micro_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_key_days` ADD `unpriced_calls` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_key_months` ADD `unpriced_calls` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_logs` ADD `is_unpriced` integer DEFAULT false NOT NULL;