ALTER TABLE `api_keys` ADD `allowed_cidrs` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `budget_increase_micro_usd` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `budget_increase_until` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `cache_seconds` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `guardrails` text;--> statement-breakpoint
ALTER TABLE `agents` ADD `guardrails` text;