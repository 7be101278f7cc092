ALTER TABLE `agent_mcp_servers` ADD `command` text;--> statement-breakpoint
ALTER TABLE `agent_mcp_servers` ADD `args` text DEFAULT '[]' NOT NULL;