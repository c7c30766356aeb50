import PushModel

/// The reasons why the router sends nothing.
struct RouterHalt {
    /// Why the ledger cannot write; nil if it can.
    var fault: LedgerFault?
    /// Whether the right to send has run out.
    var isSuspended = false
    /// Whether the router was told to stop. It does not start again.
    var isStopped = false

    var isOn: Bool { fault != nil || isSuspended || isStopped }
}
