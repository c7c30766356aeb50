private import CEvent

/// A watch for one descriptor on a loop. It is level-triggered: it fires again while data is left to read.
///
/// Confined to its loop; it is created, used and cancelled there. It does not own the descriptor: cancel the watch
/// first, then close the descriptor.
@safe
package final class Watch {
    package struct Readiness: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        package static let readable = Readiness(rawValue: 1)
        package static let writable = Readiness(rawValue: 2)
    }

    private let loop: EventLoop
    private var handler: ((Readiness) -> Void)?
    private var readEvent: OpaquePointer?
    private var writeEvent: OpaquePointer?

    /// The events to watch for. Setting the same value again costs nothing.
    package var interest: Readiness = [] {
        didSet {
            if interest != oldValue { update(from: oldValue) }
        }
    }

    /// Creates a watch. The handler is kept until ``cancel()``; capture its owner weakly or unowned.
    package init(_ descriptor: CInt, on loop: EventLoop, handler: @escaping (Readiness) -> Void) {
        self.loop = loop
        self.handler = handler
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe readEvent = event_new(
            loop.eventBase, descriptor, Int16(EV_READ | EV_PERSIST),
            { _, _, context in unsafe Watch.from(context).fire(.readable) }, context)
        unsafe writeEvent = event_new(
            loop.eventBase, descriptor, Int16(EV_WRITE | EV_PERSIST),
            { _, _, context in unsafe Watch.from(context).fire(.writable) }, context)
    }

    /// Ends the watch. The handler is not called again, not even for events that are ready in this tick. May be called
    /// twice.
    package func cancel() {
        guard unsafe readEvent != nil else { return }
        loop.assertOnLoop()
        unsafe event_free(readEvent)
        unsafe event_free(writeEvent)
        unsafe readEvent = nil
        unsafe writeEvent = nil
        handler = nil
    }

    deinit {
        precondition(unsafe readEvent == nil, "a watch must be cancelled before it is released")
    }

    /// The handler may release the watch.
    private func fire(_ readiness: Readiness) {
        let loop = loop
        loop.handlerBegins()
        handler?(readiness)
        loop.handlerReturned()
    }

    private func update(from old: Readiness) {
        guard unsafe readEvent != nil else { return }
        loop.assertOnLoop()
        if interest.contains(.readable) != old.contains(.readable) {
            unsafe _ = interest.contains(.readable) ? event_add(readEvent, nil) : event_del(readEvent)
        }
        if interest.contains(.writable) != old.contains(.writable) {
            unsafe _ = interest.contains(.writable) ? event_add(writeEvent, nil) : event_del(writeEvent)
        }
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> Watch {
        unsafe Unmanaged<Watch>.fromOpaque(context!).takeUnretainedValue()
    }
}
