PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_deployment_history` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`agent_id` text NOT NULL,
	`kind` text NOT NULL,
	`requested_by` text NOT NULL,
	`request_id` text,
	`status_before` text NOT NULL,
	`image` text,
	`previous_image` text,
	`step` text NOT NULL,
	`result` text,
	`error` text,
	`log_tail` text,
	`snapshot` text,
	`source` text,
	`requested_at` integer NOT NULL,
	`started_at` integer,
	`finished_at` integer,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "deployment_history_kind" CHECK("__new_deployment_history"."kind" IN ('deploy', 'start', 'restart', 'update', 'repair', 'reset-memory', 'restore-snapshot')),
	CONSTRAINT "deployment_history_step" CHECK("__new_deployment_history"."step" IN ('queued', 'pull', 'stop', 'snapshot', 'replace', 'port', 'starting', 'health', 'reset', 'restore', 'done')),
	CONSTRAINT "deployment_history_result" CHECK("__new_deployment_history"."result" IN ('succeeded', 'failed', 'refused', 'rolled-back', 'replaced', 'cancelled'))
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_deployment_history`("id", "agent_id", "kind", "requested_by", "request_id", "status_before", "image", "previous_image", "step", "result", "error", "log_tail", "snapshot", "requested_at", "started_at", "finished_at") SELECT "id", "agent_id", "kind", "requested_by", "request_id", "status_before", "image", "previous_image", "step", "result", "error", "log_tail", "snapshot", "requested_at", "started_at", "finished_at" FROM `deployment_history`;--> statement-breakpoint
DROP TABLE `deployment_history`;--> statement-breakpoint
ALTER TABLE `__new_deployment_history` RENAME TO `deployment_history`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE INDEX `deployment_history_by_agent` ON `deployment_history` (`agent_id`,`id`);