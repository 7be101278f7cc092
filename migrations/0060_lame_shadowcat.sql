ALTER TABLE `jobs` ADD `share` text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX `deployment_history_of_versions` ON `deployment_history` (`finished_at`) WHERE result = 'succeeded' AND kind IN ('deploy', 'update');--> statement-breakpoint
CREATE INDEX `agents_by_time` ON `agents` (`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `agents_by_runtime` ON `agents` (`runtime`);--> statement-breakpoint
CREATE INDEX `agents_by_version` ON `agents` (`started_at`) WHERE status IN ('running', 'sleeping') AND image IS NOT NULL AND runtime_version IS NOT NULL;--> statement-breakpoint
CREATE INDEX `invites_by_time` ON `invites` (`created_at`,`code_hash`);--> statement-breakpoint
CREATE INDEX `users_by_time` ON `users` (`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `webhook_deliveries_waiting` ON `webhook_deliveries` (`agent_id`) WHERE status = 'queued';