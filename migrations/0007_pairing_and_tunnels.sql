CREATE TABLE `pairing_codes` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`code_hash` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`used_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `pairing_codes_codeHash_unique` ON `pairing_codes` (`code_hash`);--> statement-breakpoint
CREATE INDEX `pairing_codes_by_user` ON `pairing_codes` (`user_id`,`expires_at`);--> statement-breakpoint
CREATE INDEX `pairing_codes_by_expiry` ON `pairing_codes` (`expires_at`);--> statement-breakpoint
ALTER TABLE `installations` ADD `agent_id` text REFERENCES agents(id) ON DELETE cascade;--> statement-breakpoint
ALTER TABLE `installations` ADD `version` text;--> statement-breakpoint
ALTER TABLE `installations` ADD `offline_at` integer;--> statement-breakpoint
ALTER TABLE `installations` ADD `is_offline_noticed` integer DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX `installations_by_agent` ON `installations` (`agent_id`);--> statement-breakpoint
ALTER TABLE `agents` ADD `tunnel_port` integer;