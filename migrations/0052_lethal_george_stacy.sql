ALTER TABLE `backup_runs` ADD `kind` text DEFAULT 'backup' NOT NULL;--> statement-breakpoint
ALTER TABLE `backup_runs` ADD `outcome` text;