PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_notices` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text,
	`agent_name` text,
	`kind` text NOT NULL,
	`text` text NOT NULL,
	`reminders` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`told_at` integer NOT NULL,
	`ended_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "notices_kind" CHECK("__new_notices"."kind" IN ('down', 'recovered', 'given_up', 'cap_near', 'cap_reached', 'approval_wanted', 'turn_limited', 'task_failed', 'backup_failed', 'cost_unusual', 'usage_limit', 'test'))
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_notices`("sequence", "id", "user_id", "agent_id", "agent_name", "kind", "text", "reminders", "created_at", "told_at", "ended_at") SELECT "sequence", "id", "user_id", "agent_id", "agent_name", "kind", "text", "reminders", "created_at", "told_at", "ended_at" FROM `notices`;--> statement-breakpoint
DROP TABLE `notices`;--> statement-breakpoint
ALTER TABLE `__new_notices` RENAME TO `notices`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE UNIQUE INDEX `notices_id_unique` ON `notices` (`id`);--> statement-breakpoint
CREATE INDEX `notices_by_user` ON `notices` (`user_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `notices_open` ON `notices` (`ended_at`,`told_at`);--> statement-breakpoint
CREATE INDEX `notices_by_time` ON `notices` (`created_at`);--> statement-breakpoint
ALTER TABLE `usage_days` ADD `reported_calls` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_days` ADD `reported_cost_micro_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_days` ADD `list_cost_micro_usd` integer DEFAULT 0 NOT NULL;