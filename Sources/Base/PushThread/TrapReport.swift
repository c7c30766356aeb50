private import CLinux
import Glibc
import Synchronization

/// A sentence on standard error when a trap ends the process: the signal, the thread, and what it had begun.
///
/// The process ends by the signal as it would without it. Where another handler is set, as under a sanitizer, nothing
/// changes.
@safe
package enum TrapReport {
    private static let signals = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]
    private static let isInstalled = Atomic(false)
    /// `SA_RESETHAND`, whose type differs between systems.
    private static let resetHandler: UInt32 = 0x8000_0000
    /// The size of the stack for handlers: that of a thread may be what has ended.
    private static let stackSize = 64 << 10

    /// Installs the handlers. Call it before threads are started: only later ones have a stack for handlers.
    package static func install() {
        guard !isInstalled.exchange(true, ordering: .relaxed) else { return }
        for signal in signals {
            var action = sigaction()
            guard unsafe sigaction(signal, nil, &action) == 0,
                unsafe action.__sigaction_handler.sa_handler == nil
            else { continue }
            unsafe action.__sigaction_handler.sa_handler = { number in CLinux_report_end(number) }
            action.sa_flags = CInt(bitPattern: resetHandler) | SA_ONSTACK
            unsafe _ = sigaction(signal, &action, nil)
        }
    }

    /// Runs the work of a thread with a stack for handlers, if they are installed.
    static func withSignalStack(_ body: () -> Void) {
        guard isInstalled.load(ordering: .relaxed) else { return body() }
        let memory = UnsafeMutableRawPointer.allocate(byteCount: stackSize, alignment: 16)
        var stack = unsafe stack_t(ss_sp: memory, ss_flags: 0, ss_size: stackSize)
        unsafe _ = sigaltstack(&stack, nil)
        body()
        unsafe stack.ss_flags = CInt(SS_DISABLE)
        unsafe _ = sigaltstack(&stack, nil)
        unsafe memory.deallocate()
    }
}

/// The name of some work, for ``TrapReport``. To set it costs one store.
@safe
package struct WorkNote: Sendable {
    // The text is never freed, because a handler may read it at any time. So each text is made once.
    private nonisolated(unsafe) let text: UnsafePointer<CChar>
    private static let known = Locked<[String: WorkNote]>([:])

    package init(_ name: String) {
        self = Self.known.withLock { known in
            if let note = known[name] { return note }
            let note = unsafe WorkNote(text: strdup(name))
            known[name] = note
            return note
        }
    }

    private init(text: UnsafePointer<CChar>) {
        unsafe self.text = text
    }

    /// Sets it as what this thread does now.
    package func set() { unsafe CLinux_note_work(text) }

    /// The same for an HTTP request, whose answer may be made by another thread.
    package func setAsRequest() { unsafe CLinux_note_request(text) }
}
