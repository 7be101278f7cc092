CREATE TABLE `calendar_entries` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`title` text NOT NULL,
	`starts_at` integer NOT NULL,
	`channels` text NOT NULL,
	`cancelled_at` integer,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `calendar_entries_by_user` ON `calendar_entries` (`user_id`,`starts_at`);--> statement-breakpoint
CREATE TABLE `installed_skills` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`skill_id` text NOT NULL,
	`enabled` integer NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `installed_skills_by_user` ON `installed_skills` (`user_id`,`skill_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `installed_skills_by_agent` ON `installed_skills` (`agent_id`,`skill_id`);--> statement-breakpoint
CREATE TABLE `own_skills` (
	`user_id` text NOT NULL,
	`name` text NOT NULL,
	`content` text NOT NULL,
	`version` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`user_id`, `name`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `skill_downloads` (
	`skill_id` text NOT NULL,
	`user_id` text NOT NULL,
	PRIMARY KEY(`skill_id`, `user_id`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `skill_downloads_by_user` ON `skill_downloads` (`user_id`);--> statement-breakpoint
CREATE TABLE `skill_figures` (
	`skill_id` text PRIMARY KEY NOT NULL,
	`downloads` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `amplifications` (
	`id` text PRIMARY KEY NOT NULL,
	`message_id` text NOT NULL,
	`requesting_agent_id` text NOT NULL,
	`partner_agent_id` text NOT NULL,
	`reward_micro_usd` integer NOT NULL,
	`status` text NOT NULL,
	`post_url` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`requesting_agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`partner_agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "amplifications_status" CHECK("amplifications"."status" IN ('requested', 'accepted', 'declined', 'completed')),
	CONSTRAINT "amplifications_reward" CHECK("amplifications"."reward_micro_usd" >= 0)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `amplifications_by_message` ON `amplifications` (`requesting_agent_id`,`message_id`);--> statement-breakpoint
CREATE INDEX `amplifications_by_partner` ON `amplifications` (`partner_agent_id`);--> statement-breakpoint
CREATE TABLE `bookings` (
	`id` text PRIMARY KEY NOT NULL,
	`message_id` text NOT NULL,
	`payer_id` text,
	`payee_id` text,
	`offering_agent_id` text,
	`talent_agent_id` text,
	`event_id` integer,
	`talent_name` text NOT NULL,
	`venue` text NOT NULL,
	`gig_at` integer,
	`guarantee_micro_usd` integer NOT NULL,
	`backend_micro_usd` integer NOT NULL,
	`deposit_micro_usd` integer NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`payer_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`payee_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`offering_agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`talent_agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`event_id`) REFERENCES `underground_events`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "bookings_status" CHECK("bookings"."status" IN ('offered', 'confirmed', 'declined')),
	CONSTRAINT "bookings_amounts" CHECK(min("bookings"."guarantee_micro_usd", "bookings"."backend_micro_usd", "bookings"."deposit_micro_usd") >= 0)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `bookings_by_message` ON `bookings` (`offering_agent_id`,`message_id`);--> statement-breakpoint
CREATE INDEX `bookings_by_payer` ON `bookings` (`payer_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `bookings_by_payee` ON `bookings` (`payee_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `bookings_by_talent` ON `bookings` (`talent_agent_id`);--> statement-breakpoint
CREATE INDEX `bookings_by_event` ON `bookings` (`event_id`);--> statement-breakpoint
CREATE TABLE `bus_messages` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`owner_id` text,
	`from_agent_id` text NOT NULL,
	`to_agent_id` text NOT NULL,
	`message_id` text NOT NULL,
	`action` text NOT NULL,
	`version` text NOT NULL,
	`body` text NOT NULL,
	`content_hash` text NOT NULL,
	`status` text NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`last_error` text,
	`created_at` integer NOT NULL,
	`delivered_at` integer,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`from_agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`to_agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "bus_messages_status" CHECK("bus_messages"."status" IN ('pending', 'delivered', 'dead'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `bus_messages_by_sender` ON `bus_messages` (`from_agent_id`,`message_id`);--> statement-breakpoint
CREATE INDEX `bus_messages_by_owner` ON `bus_messages` (`owner_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `bus_messages_by_recipient` ON `bus_messages` (`to_agent_id`);--> statement-breakpoint
CREATE INDEX `bus_messages_by_status` ON `bus_messages` (`status`,`id`);--> statement-breakpoint
CREATE INDEX `bus_messages_by_time` ON `bus_messages` (`created_at`);--> statement-breakpoint
CREATE TABLE `underground_events` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`owner_id` text,
	`agent_id` text NOT NULL,
	`local_agent_id` text,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`venue` text NOT NULL,
	`event_date` integer NOT NULL,
	`ticket_price_micro_usd` integer NOT NULL,
	`price_places` integer NOT NULL,
	`total_tickets` integer NOT NULL,
	`tickets_sold` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`local_agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "underground_events_price" CHECK("underground_events"."ticket_price_micro_usd" >= 0),
	CONSTRAINT "underground_events_tickets" CHECK("underground_events"."tickets_sold" BETWEEN 0 AND "underground_events"."total_tickets")
) STRICT;
--> statement-breakpoint
CREATE INDEX `underground_events_by_date` ON `underground_events` (`event_date`,`id`);--> statement-breakpoint
CREATE INDEX `underground_events_by_owner` ON `underground_events` (`owner_id`,`event_date`,`id`);--> statement-breakpoint
CREATE INDEX `underground_events_by_agent` ON `underground_events` (`local_agent_id`);