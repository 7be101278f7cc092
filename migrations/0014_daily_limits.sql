CREATE TABLE `agent_day_counts` (
	`agent_id` text NOT NULL,
	`day` text NOT NULL,
	`kind` text NOT NULL,
	`used` integer DEFAULT 0 NOT NULL,
	`extra` integer DEFAULT 0 NOT NULL,
	`reached_at` integer,
	PRIMARY KEY(`agent_id`, `day`, `kind`),
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "agent_day_counts_kind" CHECK("agent_day_counts"."kind" IN ('usd', 'tokens', 'messages', 'toolCalls', 'files'))
) STRICT;
--> statement-breakpoint
ALTER TABLE `agent_caps` ADD `messages_per_day` integer;--> statement-breakpoint
ALTER TABLE `agent_caps` ADD `tool_calls_per_day` integer;--> statement-breakpoint
ALTER TABLE `agent_caps` ADD `files_per_day` integer;--> statement-breakpoint
ALTER TABLE `agent_caps` ADD `actions` text DEFAULT '{}' NOT NULL;