CREATE TABLE `agent_revisions` (
	`agent_id` text NOT NULL,
	`number` integer NOT NULL,
	`author` text NOT NULL,
	`restored_from` integer,
	`model` text NOT NULL,
	`ai_provider` text NOT NULL,
	`plan` text NOT NULL,
	`config` text NOT NULL,
	`sealed_secrets` text,
	`tools` text,
	`instructions` text,
	`image` text,
	`runtime_version` text,
	`created_at` integer NOT NULL,
	`healthy_at` integer,
	PRIMARY KEY(`agent_id`, `number`),
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
ALTER TABLE `watchdog_events` ADD `rung` text;--> statement-breakpoint
ALTER TABLE `watchdog_events` ADD `detail` text;--> statement-breakpoint
ALTER TABLE `watchdog_events` ADD `log_tail` text;--> statement-breakpoint
ALTER TABLE `watchdogs` ADD `rungs` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `watchdogs` ADD `rung` text;--> statement-breakpoint
ALTER TABLE `watchdogs` ADD `retries` integer DEFAULT 0 NOT NULL;