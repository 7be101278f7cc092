ALTER TABLE `chat_sessions` ADD `platform` text DEFAULT 'web' NOT NULL;--> statement-breakpoint
ALTER TABLE `chat_sessions` ADD `channel_key` text;--> statement-breakpoint
CREATE UNIQUE INDEX `chat_sessions_by_channel` ON `chat_sessions` (`agent_id`,`channel_key`) WHERE "chat_sessions"."channel_key" IS NOT NULL;--> statement-breakpoint
ALTER TABLE `chat_turns` ADD `error_code` text;--> statement-breakpoint
ALTER TABLE `chat_turns` ADD `restarts` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `chat_turns` ADD `start_position` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `messages` ADD `platform` text DEFAULT 'web' NOT NULL;--> statement-breakpoint
ALTER TABLE `messages` ADD `author` text;--> statement-breakpoint
ALTER TABLE `messages` ADD `external_id` text;--> statement-breakpoint
CREATE UNIQUE INDEX `messages_by_external_id` ON `messages` (`agent_id`,`external_id`) WHERE "messages"."external_id" IS NOT NULL;