CREATE TABLE `agent_labels` (
	`agent_id` text NOT NULL,
	`label` text NOT NULL,
	PRIMARY KEY(`agent_id`, `label`),
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `agent_labels_by_label` ON `agent_labels` (`label`);