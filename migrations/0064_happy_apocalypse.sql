PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_agent_mcp_servers` (
	`id` text PRIMARY KEY NOT NULL,
	`agent_id` text NOT NULL,
	`name` text NOT NULL,
	`url` text NOT NULL,
	`command` text,
	`args` text DEFAULT '[]' NOT NULL,
	`sealed_headers` text,
	`allowed_tools` text,
	`trusted_tools` text,
	`enabled` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_agent_mcp_servers`("id", "agent_id", "name", "url", "command", "args", "sealed_headers", "allowed_tools", "trusted_tools", "enabled", "created_at", "updated_at") SELECT "id", "agent_id", "name", "url", "command", "args", "sealed_headers", "allowed_tools", "trusted_tools", "enabled", "created_at", "updated_at" FROM `agent_mcp_servers`;--> statement-breakpoint
DROP TABLE `agent_mcp_servers`;--> statement-breakpoint
ALTER TABLE `__new_agent_mcp_servers` RENAME TO `agent_mcp_servers`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE UNIQUE INDEX `agent_mcp_servers_by_name` ON `agent_mcp_servers` (`agent_id`,`name`);