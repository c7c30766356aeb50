#if !canImport(FoundationNetworking)
import Foundation

/// The stream of a body for URLSession on Apple's platforms, which does not accept other classes of streams: one end of a
/// pair, with a thread that writes to the other end.
enum BodyPump {
    private static let bufferSize = 65_536

    /// Returns the end that is read. The thread ends with the body, or when the session closes its end.
    static func makeStream(_ plan: BodyPlan, failure: Locked<RequestError?>) -> InputStream? {
        var input: InputStream?
        var output: OutputStream?
        Stream.getBoundStreams(withBufferSize: bufferSize, inputStream: &input, outputStream: &output)
        guard let input, let output else { return nil }
        nonisolated(unsafe) let end = output
        // Writing waits while the buffer is full.
        let thread = Thread { pump(plan, failure: failure, to: end) }
        thread.name = "RequestQueue body"
        thread.start()
        return input
    }

    private static func pump(_ plan: BodyPlan, failure: Locked<RequestError?>, to output: OutputStream) {
        let reader = BodyReader(plan, failure: failure)
        let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: bufferSize)
        defer {
            buffer.deallocate()
            reader.close()
            output.close()
        }
        output.open()
        while reader.hasBytes {
            let count = reader.read(into: buffer, length: bufferSize)
            // A body that ends too early is refused by the session, because its length was announced.
            guard count > 0 else { return }
            var written = 0
            while written < count {
                let more = output.write(buffer + written, maxLength: count - written)
                guard more > 0 else { return }
                written += more
            }
        }
    }
}
#endif
