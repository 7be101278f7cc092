CREATE TABLE `chat_turn_pieces` (
	`turn_id` text NOT NULL,
	`start` integer NOT NULL,
	`text` text NOT NULL,
	PRIMARY KEY(`turn_id`, `start`),
	FOREIGN KEY (`turn_id`) REFERENCES `chat_turns`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `chat_turns` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`question_id` text NOT NULL,
	`reply_id` text,
	`session_key` text NOT NULL,
	`state` text NOT NULL,
	`error_kind` text,
	`error` text,
	`created_at` integer NOT NULL,
	`finished_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`question_id`) REFERENCES `messages`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "chat_turns_state" CHECK("chat_turns"."state" IN ('running', 'done', 'stopped', 'failed'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `chat_turns_id_unique` ON `chat_turns` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `chat_turns_questionId_unique` ON `chat_turns` (`question_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `chat_turns_replyId_unique` ON `chat_turns` (`reply_id`);--> statement-breakpoint
CREATE INDEX `chat_turns_by_agent` ON `chat_turns` (`agent_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `chat_turns_by_user` ON `chat_turns` (`user_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `chat_turns_by_state` ON `chat_turns` (`state`,`user_id`);--> statement-breakpoint
PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_messages` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`sender` text NOT NULL,
	`content` text NOT NULL,
	`topic` text,
	`session_id` text,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`session_id`) REFERENCES `chat_sessions`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "messages_sender" CHECK("__new_messages"."sender" IN ('user', 'agent')),
	CONSTRAINT "messages_status" CHECK("__new_messages"."status" IN ('sent', 'stopped', 'failed'))
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_messages`("sequence", "id", "user_id", "agent_id", "sender", "content", "topic", "session_id", "status", "created_at") SELECT "sequence", "id", "user_id", "agent_id", "sender", "content", "topic", "session_id", "status", "created_at" FROM `messages`;--> statement-breakpoint
DROP TABLE `messages`;--> statement-breakpoint
ALTER TABLE `__new_messages` RENAME TO `messages`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE UNIQUE INDEX `messages_id_unique` ON `messages` (`id`);--> statement-breakpoint
CREATE INDEX `messages_by_agent` ON `messages` (`agent_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `messages_by_user` ON `messages` (`user_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `messages_by_session` ON `messages` (`session_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `messages_by_time` ON `messages` (`created_at`);