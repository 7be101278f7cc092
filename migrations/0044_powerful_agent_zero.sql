PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_agent_memory` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`agent_id` text NOT NULL,
	`key` text NOT NULL,
	`value` text NOT NULL,
	`source` text NOT NULL,
	`session` text,
	`page` text,
	`created_at` integer,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "agent_memory_source" CHECK("__new_agent_memory"."source" IN ('user', 'agent'))
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_agent_memory`("agent_id", "key", "value", "source", "updated_at") SELECT "agent_id", "key", "value", "source", "updated_at" FROM `agent_memory` ORDER BY "updated_at";--> statement-breakpoint
DROP TABLE `agent_memory`;--> statement-breakpoint
ALTER TABLE `__new_agent_memory` RENAME TO `agent_memory`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE UNIQUE INDEX `agent_memory_by_key` ON `agent_memory` (`agent_id`,`key`);