// Written by `bun run migrations`.
import sql0 from './0000_start.sql' with { type: 'text' }
import sql1 from './0001_accounts.sql' with { type: 'text' }
import sql2 from './0002_containers.sql' with { type: 'text' }
import sql3 from './0003_gateway.sql' with { type: 'text' }
import sql4 from './0004_rooms.sql' with { type: 'text' }
import sql5 from './0005_sleepy_spacker_dave.sql' with { type: 'text' }
import sql6 from './0006_runtimes.sql' with { type: 'text' }
import sql7 from './0007_admins.sql' with { type: 'text' }
import sql8 from './0008_one_memory.sql' with { type: 'text' }
import sql9 from './0009_residence.sql' with { type: 'text' }
import sql10 from './0010_small_steps.sql' with { type: 'text' }
import sql11 from './0011_token_rotation.sql' with { type: 'text' }
import sql12 from './0012_downs.sql' with { type: 'text' }
import sql13 from './0013_glamorous_champions.sql' with { type: 'text' }
import sql14 from './0014_spotty_alice.sql' with { type: 'text' }
import sql15 from './0015_faulty_triathlon.sql' with { type: 'text' }
import sql16 from './0016_nostalgic_sunset_bain.sql' with { type: 'text' }
import sql17 from './0017_funny_oracle.sql' with { type: 'text' }
import sql18 from './0018_big_zzzax.sql' with { type: 'text' }
import sql19 from './0019_cold_bloodstorm.sql' with { type: 'text' }
import sql20 from './0020_faithful_sasquatch.sql' with { type: 'text' }
import sql21 from './0021_steep_sauron.sql' with { type: 'text' }
import sql22 from './0022_giant_manta.sql' with { type: 'text' }
import sql23 from './0023_brave_darwin.sql' with { type: 'text' }
import sql24 from './0024_thick_quentin_quire.sql' with { type: 'text' }
import sql25 from './0025_graceful_typhoid_mary.sql' with { type: 'text' }
import sql26 from './0026_stormy_thunderbolt.sql' with { type: 'text' }
import sql27 from './0027_regular_jazinda.sql' with { type: 'text' }
import sql28 from './0028_flat_mystique.sql' with { type: 'text' }
import sql29 from './0029_productive_satana.sql' with { type: 'text' }
import sql30 from './0030_cold_mauler.sql' with { type: 'text' }
import sql31 from './0031_low_carnage.sql' with { type: 'text' }
import sql32 from './0032_shallow_johnny_blaze.sql' with { type: 'text' }
import sql33 from './0033_third_elektra.sql' with { type: 'text' }
import sql34 from './0034_small_rachel_grey.sql' with { type: 'text' }
import sql35 from './0035_shocking_lady_deathstrike.sql' with { type: 'text' }
import sql36 from './0036_rare_trish_tilby.sql' with { type: 'text' }
import sql37 from './0037_mixed_quentin_quire.sql' with { type: 'text' }
import sql38 from './0038_moaning_hulk.sql' with { type: 'text' }
import sql39 from './0039_eminent_weapon_omega.sql' with { type: 'text' }
import sql40 from './0040_true_changeling.sql' with { type: 'text' }
import sql41 from './0041_hard_cyclops.sql' with { type: 'text' }
import sql42 from './0042_salty_maginty.sql' with { type: 'text' }
import sql43 from './0043_soft_mad_thinker.sql' with { type: 'text' }
import sql44 from './0044_powerful_agent_zero.sql' with { type: 'text' }
import sql45 from './0045_classy_sage.sql' with { type: 'text' }
import sql46 from './0046_smooth_jackpot.sql' with { type: 'text' }
import sql47 from './0047_steady_butterfly.sql' with { type: 'text' }
import sql48 from './0048_dizzy_blazing_skull.sql' with { type: 'text' }
import sql49 from './0049_yummy_rockslide.sql' with { type: 'text' }
import sql50 from './0050_burly_garia.sql' with { type: 'text' }
import sql51 from './0051_dapper_vin_gonzales.sql' with { type: 'text' }
import sql52 from './0052_lethal_george_stacy.sql' with { type: 'text' }
import sql53 from './0053_ambiguous_warbound.sql' with { type: 'text' }
import sql54 from './0054_omniscient_thunderball.sql' with { type: 'text' }
import sql55 from './0055_numerous_william_stryker.sql' with { type: 'text' }
import sql56 from './0056_familiar_mach_iv.sql' with { type: 'text' }
import sql57 from './0057_flaky_the_call.sql' with { type: 'text' }
import sql58 from './0058_goofy_sugar_man.sql' with { type: 'text' }
import sql59 from './0059_harsh_mad_thinker.sql' with { type: 'text' }
import sql60 from './0060_lame_shadowcat.sql' with { type: 'text' }
import sql61 from './0061_blue_baron_strucker.sql' with { type: 'text' }
import sql62 from './0062_lethal_mindworm.sql' with { type: 'text' }
import sql63 from './0063_blue_siren.sql' with { type: 'text' }
import sql64 from './0064_happy_apocalypse.sql' with { type: 'text' }
import sql65 from './0065_milky_boomer.sql' with { type: 'text' }
import sql66 from './0066_exotic_shiva.sql' with { type: 'text' }
import sql67 from './0067_sweet_romulus.sql' with { type: 'text' }
import sql68 from './0068_tearful_kingpin.sql' with { type: 'text' }

/** Every migration in order, embedded as text. */
export const migrations = [
  { name: '0000_start', sql: sql0 },
  { name: '0001_accounts', sql: sql1 },
  { name: '0002_containers', sql: sql2 },
  { name: '0003_gateway', sql: sql3 },
  { name: '0004_rooms', sql: sql4 },
  { name: '0005_sleepy_spacker_dave', sql: sql5 },
  { name: '0006_runtimes', sql: sql6 },
  { name: '0007_admins', sql: sql7 },
  { name: '0008_one_memory', sql: sql8 },
  { name: '0009_residence', sql: sql9 },
  { name: '0010_small_steps', sql: sql10 },
  { name: '0011_token_rotation', sql: sql11 },
  { name: '0012_downs', sql: sql12 },
  { name: '0013_glamorous_champions', sql: sql13 },
  { name: '0014_spotty_alice', sql: sql14 },
  { name: '0015_faulty_triathlon', sql: sql15 },
  { name: '0016_nostalgic_sunset_bain', sql: sql16 },
  { name: '0017_funny_oracle', sql: sql17 },
  { name: '0018_big_zzzax', sql: sql18 },
  { name: '0019_cold_bloodstorm', sql: sql19 },
  { name: '0020_faithful_sasquatch', sql: sql20 },
  { name: '0021_steep_sauron', sql: sql21 },
  { name: '0022_giant_manta', sql: sql22 },
  { name: '0023_brave_darwin', sql: sql23 },
  { name: '0024_thick_quentin_quire', sql: sql24 },
  { name: '0025_graceful_typhoid_mary', sql: sql25 },
  { name: '0026_stormy_thunderbolt', sql: sql26 },
  { name: '0027_regular_jazinda', sql: sql27 },
  { name: '0028_flat_mystique', sql: sql28 },
  { name: '0029_productive_satana', sql: sql29 },
  { name: '0030_cold_mauler', sql: sql30 },
  { name: '0031_low_carnage', sql: sql31 },
  { name: '0032_shallow_johnny_blaze', sql: sql32 },
  { name: '0033_third_elektra', sql: sql33 },
  { name: '0034_small_rachel_grey', sql: sql34 },
  { name: '0035_shocking_lady_deathstrike', sql: sql35 },
  { name: '0036_rare_trish_tilby', sql: sql36 },
  { name: '0037_mixed_quentin_quire', sql: sql37 },
  { name: '0038_moaning_hulk', sql: sql38 },
  { name: '0039_eminent_weapon_omega', sql: sql39 },
  { name: '0040_true_changeling', sql: sql40 },
  { name: '0041_hard_cyclops', sql: sql41 },
  { name: '0042_salty_maginty', sql: sql42 },
  { name: '0043_soft_mad_thinker', sql: sql43 },
  { name: '0044_powerful_agent_zero', sql: sql44 },
  { name: '0045_classy_sage', sql: sql45 },
  { name: '0046_smooth_jackpot', sql: sql46 },
  { name: '0047_steady_butterfly', sql: sql47 },
  { name: '0048_dizzy_blazing_skull', sql: sql48 },
  { name: '0049_yummy_rockslide', sql: sql49 },
  { name: '0050_burly_garia', sql: sql50 },
  { name: '0051_dapper_vin_gonzales', sql: sql51 },
  { name: '0052_lethal_george_stacy', sql: sql52 },
  { name: '0053_ambiguous_warbound', sql: sql53 },
  { name: '0054_omniscient_thunderball', sql: sql54 },
  { name: '0055_numerous_william_stryker', sql: sql55 },
  { name: '0056_familiar_mach_iv', sql: sql56 },
  { name: '0057_flaky_the_call', sql: sql57 },
  { name: '0058_goofy_sugar_man', sql: sql58 },
  { name: '0059_harsh_mad_thinker', sql: sql59 },
  { name: '0060_lame_shadowcat', sql: sql60 },
  { name: '0061_blue_baron_strucker', sql: sql61 },
  { name: '0062_lethal_mindworm', sql: sql62 },
  { name: '0063_blue_siren', sql: sql63 },
  { name: '0064_happy_apocalypse', sql: sql64 },
  { name: '0065_milky_boomer', sql: sql65 },
  { name: '0066_exotic_shiva', sql: sql66 },
  { name: '0067_sweet_romulus', sql: sql67 },
  { name: '0068_tearful_kingpin', sql: sql68 },
]
