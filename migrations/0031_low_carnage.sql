CREATE TABLE `agent_tool_settings` (
	`agent_id` text PRIMARY KEY NOT NULL,
	`profile` text,
	`switches` text NOT NULL,
	`model_turns` integer NOT NULL,
	`tool_calls` integer NOT NULL,
	`micro_usd_per_turn` integer,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "agent_tool_settings_profile" CHECK("agent_tool_settings"."profile" IN ('minimal', 'messaging', 'coding', 'full'))
) STRICT;
