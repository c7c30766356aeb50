import Glibc
import Testing

@testable import PushLoop

/// Tests of signals. They are serialized, because signals belong to the process.
@Suite(.serialized) struct SignalTests {
    private static func handler(of signal: Signal) -> Int {
        var action = sigaction()
        sigaction(signal.number, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
    }

    /// Unblocks the signal on this thread. Threads that a Dispatch thread has started inherit a mask that blocks most
    /// signals.
    private static func unblock(_ number: CInt) {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    @Test("A signal is delivered on the loop") func signalArrivesOnTheLoop() async {
        let loop = EventLoop(name: "signals")
        let seen = Recorder<Signal>()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute {
                var source: SignalSource?
                source = SignalSource(on: loop, signals: [.user1, .user2]) { signal in
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

    @Test("The former action is restored") func formerDispositionComesBack() async {
        let loop = EventLoop(name: "former")
        let before = Self.handler(of: .user1)
        #expect(before == 0)
        signal(SIGUSR2, SIG_IGN)
        await loop.run {
            let source = SignalSource(on: loop, signals: [.user1, .user2]) { _ in }
            #expect(Self.handler(of: .user1) != before)
            #expect(!Signal.user2.isIgnored)
            source.cancel()
        }
        #expect(Self.handler(of: .user1) == before)
        #expect(Signal.user2.isIgnored)
        signal(SIGUSR2, SIG_DFL)
        await loop.shutDown()
    }

    /// A second SIGTERM has another meaning than the first, so no delivered signal may be lost.
    @Test("Each delivered signal is counted") func eachDeliveryCounts() async {
        let loop = EventLoop(name: "twice")
        let seen = Recorder<Signal>()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute {
                var source: SignalSource?
                source = SignalSource(on: loop, signals: [.user1]) {
                    seen.add($0)
                    guard seen.values.count == 3 else { return }
                    source?.cancel()
                    source = nil
                    continuation.resume()
                }
                // `raise` sends to this thread and returns after the delivery, so the system does not merge the
                // signals.
                Self.unblock(SIGUSR1)
                for _ in 0..<3 { raise(SIGUSR1) }
            }
        }
        #expect(seen.values.count == 3)
        await loop.shutDown()
    }

    @Test("A source may be created again on another loop") func sourceMayBeMadeAgainOnAnotherLoop() async {
        for round in 0..<3 {
            let loop = EventLoop(name: "again-\(round)")
            let seen: Signal = await withCheckedContinuation { continuation in
                loop.execute {
                    var source: SignalSource?
                    source = SignalSource(on: loop, signals: [.user1]) { signal in
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

    @Test("Signals before the source are not delivered") func whatCameBeforeDoesNotCount() async {
        let loop = EventLoop(name: "late")
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute {
                let first = SignalSource(on: loop, signals: [.user1]) { _ in Issue.record("the source was cancelled") }
                Self.unblock(SIGUSR1)
                raise(SIGUSR1)
                first.cancel()
                let second = SignalSource(on: loop, signals: [.user1]) { _ in
                    Issue.record("belongs to the first source")
                }
                loop.schedule(after: .milliseconds(5)) {
                    second.cancel()
                    continuation.resume()
                }
            }
        }
        await loop.shutDown()
    }

    @Test("A second source for a signal ends the process") func secondSourceOfASignalEndsTheProcess() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let loop = EventLoop(name: "owner")
            await loop.run {
                let first = SignalSource(on: loop, signals: [.user1]) { _ in }
                let second = SignalSource(on: loop, signals: [.user1]) { _ in }
                withExtendedLifetime((first, second)) {}
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("SIGUSR1 already has a source"))
    }

    @Test("A broken pipe is an error if SIGPIPE is ignored") func brokenPipeIsAnErrorOnceIgnored() async {
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

    @Test("Signals have names") func signalsHaveNames() {
        #expect(Signal.terminate.description == "SIGTERM")
        #expect(Signal(number: 40).description == "signal 40")
    }
}
