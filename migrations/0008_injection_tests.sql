CREATE TABLE `agent_tests` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`agent_id` text NOT NULL,
	`state` text NOT NULL,
	`model` text NOT NULL,
	`results` text DEFAULT '[]' NOT NULL,
	`error` text,
	`created_at` integer NOT NULL,
	`finished_at` integer,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "agent_tests_state" CHECK("agent_tests"."state" IN ('queued', 'running', 'done', 'failed'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `agent_tests_id_unique` ON `agent_tests` (`id`);--> statement-breakpoint
CREATE INDEX `agent_tests_by_agent` ON `agent_tests` (`agent_id`,`sequence`);