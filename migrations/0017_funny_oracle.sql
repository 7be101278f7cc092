CREATE TABLE `agent_storage` (
	`agent_id` text PRIMARY KEY NOT NULL,
	`owner_id` text,
	`message_bytes` integer DEFAULT 0 NOT NULL,
	`memory_bytes` integer DEFAULT 0 NOT NULL,
	`inbox_bytes` integer DEFAULT 0 NOT NULL,
	`workspace_bytes` integer DEFAULT 0 NOT NULL,
	`measured_at` integer,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `agent_storage_by_owner` ON `agent_storage` (`owner_id`);--> statement-breakpoint
CREATE INDEX `agent_storage_by_measurement` ON `agent_storage` (`measured_at`);--> statement-breakpoint
CREATE TABLE `user_storage` (
	`user_id` text PRIMARY KEY NOT NULL,
	`used_bytes` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `messages_by_time` ON `messages` (`created_at`);--> statement-breakpoint
CREATE INDEX `inbox_messages_by_time` ON `inbox_messages` (`received_at`);--> statement-breakpoint
CREATE INDEX `security_events_by_time` ON `security_events` (`received_at`);--> statement-breakpoint
CREATE INDEX `usage_logs_by_time` ON `usage_logs` (`created_at`);