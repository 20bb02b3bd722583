// Branches to itself for ever.
s_nop 0
here:
s_branch here
s_endpgm
// bytes: 000080bfffff82bf000081bf
