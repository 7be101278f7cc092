CREATE TABLE `agent_egress` (
	`agent_id` text PRIMARY KEY NOT NULL,
	`policy` text NOT NULL,
	`allow` text NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "agent_egress_policy" CHECK("agent_egress"."policy" IN ('open', 'allow-list', 'none'))
) STRICT;
--> statement-breakpoint
CREATE TABLE `egress_blocks` (
	`agent_id` text NOT NULL,
	`host` text NOT NULL,
	`port` integer NOT NULL,
	`reason` text NOT NULL,
	`count` integer NOT NULL,
	`first_at` integer NOT NULL,
	`last_at` integer NOT NULL,
	PRIMARY KEY(`agent_id`, `host`, `port`),
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "egress_blocks_reason" CHECK("egress_blocks"."reason" IN ('policy', 'address', 'name', 'request'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `egress_blocks_by_time` ON `egress_blocks` (`agent_id`,`last_at`);