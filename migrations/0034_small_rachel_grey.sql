ALTER TABLE `chat_turns` ADD `request_key` text;--> statement-breakpoint
ALTER TABLE `chat_turns` ADD `request_hash` text;--> statement-breakpoint
CREATE UNIQUE INDEX `chat_turns_by_request` ON `chat_turns` (`user_id`,`request_key`);