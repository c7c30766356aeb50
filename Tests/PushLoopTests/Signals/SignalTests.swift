import Glibc
import Testing

@testable import PushLoop

/// Signals belong to the process: one after the other.
@Suite(.serialized) struct SignalTests {
    private static func handler(of signal: Signal) -> Int {
        var action = sigaction()
        sigaction(signal.number, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
    }

    /// On this thread: one that a Dispatch thread has started inherits that most signals are blocked.
    private static func unblock(_ number: CInt) {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    @Test func signalArrivesOnTheLoop() async {
        let loop = EventLoop(name: "signals")
        let seen = Recorder<Signal>()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute {
                var source: SignalSource?
                source = SignalSource(on: loop, [.user1, .user2]) { signal in
                    #expect(loop.isOnLoop)
                    seen.add(signal)
                    if signal == .user1 { return _ = kill(getpid(), SIGUSR2) }
                    source?.cancel()
                    source?.cancel()
                    source = nil
                    continuation.resume()
                }
                kill(getpid(), SIGUSR1)
            }
        }
        #expect(seen.values == [.user1, .user2])
        await loop.shutDown()
    }

    @Test func formerDispositionComesBack() async {
        let loop = EventLoop(name: "former")
        let before = Self.handler(of: .user1)
        #expect(before == 0)
        signal(SIGUSR2, SIG_IGN)
        await loop.run {
            let source = SignalSource(on: loop, [.user1, .user2]) { _ in }
            #expect(Self.handler(of: .user1) != before)
            #expect(!Signal.user2.isIgnored)
            source.cancel()
        }
        #expect(Self.handler(of: .user1) == before)
        #expect(Signal.user2.isIgnored)
        signal(SIGUSR2, SIG_DFL)
        await loop.shutDown()
    }

    /// A second SIGTERM means something else than the first: none may be lost once it was delivered.
    @Test func eachDeliveryCounts() async {
        let loop = EventLoop(name: "twice")
        let seen = Recorder<Signal>()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute {
                var source: SignalSource?
                source = SignalSource(on: loop, [.user1]) {
                    seen.add($0)
                    guard seen.values.count == 3 else { return }
                    source?.cancel()
                    source = nil
                    continuation.resume()
                }
                // To this very thread: each is delivered before `raise` returns, so that the system merges none.
                Self.unblock(SIGUSR1)
                for _ in 0..<3 { raise(SIGUSR1) }
            }
        }
        #expect(seen.values.count == 3)
        await loop.shutDown()
    }

    @Test func sourceMayBeMadeAgainOnAnotherLoop() async {
        for round in 0..<3 {
            let loop = EventLoop(name: "again-\(round)")
            let seen: Signal = await withCheckedContinuation { continuation in
                loop.execute {
                    var source: SignalSource?
                    source = SignalSource(on: loop, [.user1]) { signal in
                        source?.cancel()
                        source = nil
                        continuation.resume(returning: signal)
                    }
                    kill(getpid(), SIGUSR1)
                }
            }
            #expect(seen == .user1)
            await loop.shutDown()
        }
    }

    @Test func whatCameBeforeDoesNotCount() async {
        let loop = EventLoop(name: "late")
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute {
                let first = SignalSource(on: loop, [.user1]) { _ in Issue.record("was cancelled") }
                Self.unblock(SIGUSR1)
                raise(SIGUSR1)
                first.cancel()
                let second = SignalSource(on: loop, [.user1]) { _ in Issue.record("belongs to the first") }
                loop.schedule(after: .milliseconds(5)) {
                    second.cancel()
                    continuation.resume()
                }
            }
        }
        await loop.shutDown()
    }

    @Test func secondSourceOfASignalEndsTheProcess() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let loop = EventLoop(name: "owner")
            await loop.run {
                let first = SignalSource(on: loop, [.user1]) { _ in }
                let second = SignalSource(on: loop, [.user1]) { _ in }
                withExtendedLifetime((first, second)) {}
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("SIGUSR1 has a source already"))
    }

    @Test func brokenPipeIsAnErrorOnceIgnored() async {
        await #expect(processExitsWith: .success) {
            Signal.pipe.ignore()
            guard Signal.pipe.isIgnored else { exit(1) }
            var ends: [CInt] = [-1, -1]
            guard pipe(&ends) == 0 else { exit(2) }
            close(ends[0])
            guard write(ends[1], "x", 1) == -1, errno == EPIPE else { exit(3) }
            exit(0)
        }
        await #expect(processExitsWith: .signal(SIGPIPE)) {
            signal(SIGPIPE, SIG_DFL)
            var ends: [CInt] = [-1, -1]
            guard pipe(&ends) == 0 else { exit(2) }
            close(ends[0])
            write(ends[1], "x", 1)
            exit(0)
        }
    }

    @Test func signalsHaveNames() {
        #expect(Signal.terminate.description == "SIGTERM")
        #expect(Signal(number: 40).description == "signal 40")
    }
}
