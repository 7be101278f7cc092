PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_ledger_accounts` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`kind` text NOT NULL,
	`owner_id` text NOT NULL,
	`currency` text NOT NULL,
	`balance` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	CONSTRAINT "ledger_accounts_kind" CHECK("__new_ledger_accounts"."kind" IN ('credits', 'escrow', 'wallets', 'payees', 'cards', 'chain', 'sales', 'grants')),
	CONSTRAINT "ledger_accounts_currency" CHECK("__new_ledger_accounts"."currency" IN ('USD', 'GBP', 'USDC', 'pathUSD')),
	CONSTRAINT "ledger_accounts_hold_what_they_owe" CHECK("__new_ledger_accounts"."balance" >= 0 OR "__new_ledger_accounts"."kind" NOT IN ('credits', 'escrow'))
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_ledger_accounts`("id", "kind", "owner_id", "currency", "balance", "created_at") SELECT "id", "kind", "owner_id", "currency", "balance", "created_at" FROM `ledger_accounts`;--> statement-breakpoint
DROP TABLE `ledger_accounts`;--> statement-breakpoint
ALTER TABLE `__new_ledger_accounts` RENAME TO `ledger_accounts`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE UNIQUE INDEX `ledger_accounts_by_name` ON `ledger_accounts` (`kind`,`owner_id`,`currency`);--> statement-breakpoint
CREATE INDEX `ledger_accounts_by_owner` ON `ledger_accounts` (`owner_id`);--> statement-breakpoint
INSERT INTO `ledger_accounts` (`kind`, `owner_id`, `currency`, `balance`, `created_at`)
	SELECT 'wallets', coalesce(`user_id`, ''), `currency`, -sum(`amount_micro_usd`), unixepoch() * 1000 FROM `wallet_payments`
	WHERE `kind` <> 'upstream' AND `status` = 'succeeded' GROUP BY coalesce(`user_id`, ''), `currency`;--> statement-breakpoint
INSERT INTO `ledger_accounts` (`kind`, `owner_id`, `currency`, `balance`, `created_at`)
	SELECT 'payees', '', `currency`, sum(`amount_micro_usd`), unixepoch() * 1000 FROM `wallet_payments`
	WHERE `kind` <> 'upstream' AND `status` = 'succeeded' GROUP BY `currency`;--> statement-breakpoint
INSERT INTO `ledger_entries` (`cause`, `memo`, `created_at`)
	SELECT 'wallet:' || `id` || ':1', 'Paid from a wallet to ' || `recipient` || ' (' || `purpose` || ')', coalesce(`settled_at`, `created_at`)
	FROM `wallet_payments` WHERE `kind` <> 'upstream' AND `status` = 'succeeded' ORDER BY `id`;--> statement-breakpoint
INSERT INTO `ledger_lines` (`entry_id`, `account_id`, `amount`, `balance_after`)
	SELECT e.`id`, a.`id`, -p.`amount_micro_usd`, -sum(p.`amount_micro_usd`) OVER (PARTITION BY a.`id` ORDER BY e.`id`)
	FROM `wallet_payments` p JOIN `ledger_entries` e ON e.`cause` = 'wallet:' || p.`id` || ':1'
	JOIN `ledger_accounts` a ON a.`kind` = 'wallets' AND a.`owner_id` = coalesce(p.`user_id`, '') AND a.`currency` = p.`currency`;--> statement-breakpoint
INSERT INTO `ledger_lines` (`entry_id`, `account_id`, `amount`, `balance_after`)
	SELECT e.`id`, a.`id`, p.`amount_micro_usd`, sum(p.`amount_micro_usd`) OVER (PARTITION BY a.`id` ORDER BY e.`id`)
	FROM `wallet_payments` p JOIN `ledger_entries` e ON e.`cause` = 'wallet:' || p.`id` || ':1'
	JOIN `ledger_accounts` a ON a.`kind` = 'payees' AND a.`owner_id` = '' AND a.`currency` = p.`currency`;
