import CLinux

/// The clock of the machine.
package enum SystemClock {
    /// Whether a time service keeps the clock; nil if the kernel does not say.
    package static var isSynchronized: Bool? {
        let state = CLinux_clock_is_synchronized()
        return state < 0 ? nil : state == 1
    }
}
