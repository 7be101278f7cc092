ALTER TABLE `agents` ADD `isolation` text;--> statement-breakpoint
ALTER TABLE `agent_tool_settings` ADD `accepted_not_isolated_at` integer;