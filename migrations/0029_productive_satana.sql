CREATE TABLE `approvals` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`agent_id` text NOT NULL,
	`tool` text NOT NULL,
	`arguments` text NOT NULL,
	`arguments_hash` text NOT NULL,
	`session` text,
	`status` text NOT NULL,
	`decided_by` text,
	`decided_via` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`decided_at` integer,
	`used_at` integer,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "approvals_status" CHECK("approvals"."status" IN ('waiting', 'approved', 'denied', 'expired', 'used'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `approvals_id_unique` ON `approvals` (`id`);--> statement-breakpoint
CREATE INDEX `approvals_by_agent` ON `approvals` (`agent_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `approvals_by_status` ON `approvals` (`status`,`expires_at`);--> statement-breakpoint
CREATE INDEX `approvals_by_arguments` ON `approvals` (`agent_id`,`arguments_hash`);