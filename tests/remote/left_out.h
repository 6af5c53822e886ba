/* Tests of the contract that a store which is a server elsewhere does not pass, and why. */
#ifndef PAWL_TESTS_REMOTE_LEFT_OUT_H
#define PAWL_TESTS_REMOTE_LEFT_OUT_H

/* A server holds operations to the rules for callers: names, numbers, limits, ids. */
#define LEFT_OUT_RULES(X)                                                                          \
    X(limit_zero_claims_nothing)                                                                   \
    X(empty_and_unknown_queues_give_nothing)                                                       \
    X(limits_cross_every_chunk)                                                                    \
    X(any_bytes_are_an_id)                                                                         \
    X(names_may_be_of_any_letters_and_full_length)                                                 \
    X(unfenced_completion_is_stale)                                                                \
    X(many_leases_are_extended_at_once)                                                            \
    X(extending_nothing_is_fine)                                                                   \
    X(more_than_a_thousand_leases_lapse_in_turns)                                                  \
    X(steps_reach_everything_that_is_old)                                                          \
    X(filter_values_are_never_sql)

/* It makes what is kept of a unique policy itself, and the suite's is not what it would make. */
#define LEFT_OUT_MADE(X) X(everything_given_comes_back)

/* Upkeep does not travel, nor does leaving out arguments, for which it asks for fewer
 * jobs; some operations are told the server's time, which is not the rig's. */
#define LEFT_OUT_OWN(X)                                                                            \
    X(long_arguments_are_left_out_where_asked)                                                     \
    X(whole_life_fits_in_one_list)                                                                 \
    X(every_kind_of_operation_shares_a_transaction)

#define REMOTE_LEFT_OUT(X) LEFT_OUT_RULES(X) LEFT_OUT_MADE(X) LEFT_OUT_OWN(X)

#endif
