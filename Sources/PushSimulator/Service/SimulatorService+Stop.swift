package import PushLoop

extension LoopBound where Value == SimulatorService {
    /// Stops it, and returns when its clients have been told. From anywhere.
    package func stop() async {
        await withCheckedContinuation { continuation in
            loop.execute { self.wrapped.stop { continuation.resume() } }
        }
    }
}
