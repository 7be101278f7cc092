CREATE TABLE `chat_attachments` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`message_id` text,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`media_type` text NOT NULL,
	`size_bytes` integer NOT NULL,
	`path` text NOT NULL,
	`excerpt` text,
	`text_path` text,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`message_id`) REFERENCES `messages`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "chat_attachments_kind" CHECK("chat_attachments"."kind" IN ('image', 'text', 'pdf'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `chat_attachments_id_unique` ON `chat_attachments` (`id`);--> statement-breakpoint
CREATE INDEX `chat_attachments_by_message` ON `chat_attachments` (`message_id`);--> statement-breakpoint
CREATE INDEX `chat_attachments_by_user` ON `chat_attachments` (`user_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `chat_attachments_by_agent` ON `chat_attachments` (`agent_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `chat_turns_by_conversation` ON `chat_turns` (`agent_id`,`session_key`,`sequence`);