private import CLinux
import Synchronization

/// The event loops of a process, by default one per core.
package final class LoopGroup: Sendable {
    package let loops: [EventLoop]
    private let turn = Atomic<Int>(0)

    package init(count: Int = LoopGroup.coreCount, name: String = "loop") {
        precondition(count > 0, "a loop group needs at least one loop")
        loops = (0..<count).map { EventLoop(name: "\(name)-\($0)") }
    }

    /// The number of cores that this process may use. A CPU set may allow fewer than the machine has.
    package static var coreCount: Int {
        max(1, Int(CLinux_core_count()))
    }

    /// Returns the loops in round-robin order.
    package func next() -> EventLoop {
        loops[turn.wrappingAdd(1, ordering: .relaxed).oldValue % loops.count]
    }

    package func shutDown() async {
        for loop in loops {
            await loop.shutDown()
        }
    }
}
