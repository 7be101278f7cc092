CREATE TABLE `stored_response_items` (
	`item_id` text NOT NULL,
	`response_id` text NOT NULL,
	PRIMARY KEY(`item_id`, `response_id`),
	FOREIGN KEY (`response_id`) REFERENCES `stored_responses`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `stored_response_items_by_response` ON `stored_response_items` (`response_id`);