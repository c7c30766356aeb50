/// A mistake in the statements or in the shell. The walks must find each of them.
enum ModelMutation: CaseIterable {
    /// The lease ends in the database when the node stops, without a margin for its clock.
    case noMargin
    /// The partition is read by the statement that raises the epoch.
    case loadWithTake
    /// Rows of nodes are found by their name alone.
    case forgottenIncarnation
    /// Nothing reports that another server with another clock is the primary.
    case hiddenPrimary
    /// Nodes and leases are read by two statements.
    case tornSnapshot
    /// A take does not compare epoch and owner.
    case takeAnyEpoch
    /// A take without an answer is believed after a look at the table.
    case believedRead
    /// A row is replaced although its lease has not ended.
    case joinAtOnce
    /// The clocks of nodes are slower than the margin allows for.
    case slowClocks
    /// The clock of a node stops while its machine is suspended.
    case stoppedClock
    /// The shell sends without a look at the deadline until the machine is called.
    case deadlineIgnored
}
