package import PushLoop

extension LoopBound where Value == SimulatorService {
    /// Stops the service, and returns when the clients of the control port have received their answers. May be called
    /// from any thread.
    package func stop() async {
        await withCheckedContinuation { continuation in
            loop.execute { self.wrapped.stop { continuation.resume() } }
        }
    }
}
