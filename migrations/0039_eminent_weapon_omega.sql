CREATE TABLE `chat_tool_calls` (
	`turn_id` text NOT NULL,
	`start` integer NOT NULL,
	`name` text NOT NULL,
	`arguments` text NOT NULL,
	`result` text NOT NULL,
	`success` integer NOT NULL,
	`duration_ms` integer NOT NULL,
	PRIMARY KEY(`turn_id`, `start`),
	FOREIGN KEY (`turn_id`) REFERENCES `chat_turns`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
ALTER TABLE `chat_turns` ADD `model` text;--> statement-breakpoint
ALTER TABLE `chat_turns` ADD `input_tokens` integer;--> statement-breakpoint
ALTER TABLE `chat_turns` ADD `output_tokens` integer;--> statement-breakpoint
ALTER TABLE `chat_turns` ADD `generation_ids` text;