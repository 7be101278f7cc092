CREATE TABLE `colony_members` (
	`agent_id` text PRIMARY KEY NOT NULL,
	`wallet_address` text NOT NULL,
	`designation` text,
	`joined_at` integer NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `colony_members_by_time` ON `colony_members` (`joined_at`);