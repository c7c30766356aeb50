import CFuzz
import PushLoop
import PushTransport

extension FuzzTarget {
    static let tlsClient = FuzzTarget(
        name: "tls-client", seeds: { TLSScript.seeds },
        run: { input in runTLS(&input, victim: .client) })

    static let tlsServer = FuzzTarget(
        name: "tls-server", seeds: { TLSScript.seeds },
        run: { input in runTLS(&input, victim: .server) })
}

private func runTLS(_ input: inout FuzzInput, victim: TLSScript.Side) {
    let script = TLSScript(&input, victim: victim)
    // A second connection may resume the session of the first.
    for _ in 0..<(script.resumes ? 2 : 1) {
        script.connect(&input)
    }
}

/// A client and a server that shake hands, while the output of one is tampered with on its way to the other.
///
/// The same input produces the same bytes, because the random numbers of OpenSSL are replaced by a counter that starts
/// again.
private final class TLSScript {
    enum Side { case client, server }

    static let seeds: [[UInt8]] = [
        // No change; TLS 1.2; client certificates; resumption.
        [0], [2, 0, 0, 0, 0], [1, 0, 0, 0, 0], [4], [6], [5],
        // A flipped byte, removed bytes, inserted bytes, a truncated, replaced, repeated and split flight.
        [0, 1, 0, 9, 0x80], [0, 2, 0, 60, 4], [0, 0, 3, 0, 5, 3, 1, 2, 3], [2, 0, 4, 0, 40], [0, 0, 6],
        [0, 7, 1, 7, 3],
        [0, 5, 7, 0x16, 3, 1, 0, 2, 1, 0], [0, 5, 18] + Array("GET / HTTP/1.1\r\n\r\n".utf8),
        // Data, key updates and closes after the handshake.
        [0, 0, 0, 0, 8, 200, 9, 0, 10, 8, 50, 0, 11], [2, 0, 0, 0, 0, 8, 9, 1, 0, 6, 0, 4],
    ]

    private static let certificates = FuzzCertificates()
    private static let servers: [TLSContext] = (0..<4).map { kind in
        made {
            try .server(
                TLSServerConfiguration(
                    identity: certificates.server.identity, alpn: ["h2"],
                    clientCertificates: kind & 1 == 1 ? .required(certificates.trust) : .none,
                    maxVersion: kind & 2 == 2 ? .tls12 : .tls13))
        }
    }

    private let victim: Side
    private let server: TLSContext
    private let client: TLSContext
    let resumes: Bool

    init(_ input: inout FuzzInput, victim: Side) {
        self.victim = victim
        let kind = input.byte()
        resumes = kind & 4 == 4
        server = Self.servers[Int(kind & 3)]
        // The client is created for each input, because it caches sessions and inputs must not depend on each other.
        client = Self.made {
            try .client(
                TLSClientConfiguration(
                    trust: Self.certificates.trust, identity: Self.certificates.client.identity, alpn: ["h2"]))
        }
        FuzzRandom.restart()
    }

    private static func made<Value>(_ body: () throws -> Value) -> Value {
        do {
            return try body()
        } catch {
            fatalError("\(error)")
        }
    }

    func connect(_ input: inout FuzzInput) {
        let ends: [TLSEngine] = Self.made {
            [
                try TLSEngine(context: client, role: .client(serverName: "localhost")),
                try TLSEngine(context: server, role: .server),
            ]
        }
        let (peer, target) = victim == .server ? (ends[0], ends[1]) : (ends[1], ends[0])
        var (sentByPeer, sentByTarget): ([UInt8], [UInt8]) = ([], [])
        var (atPeer, atTarget): ([UInt8], [UInt8]) = ([], [])
        Self.made { try ends[0].start() }
        var isOver = false
        for _ in 0..<64 where !isOver {
            var flight = takeOutput(of: peer)
            let command = input.byte()
            let size = tamper(&flight, command, &input)
            if flight.isEmpty, target.output.isEmpty, input.isAtEnd { break }
            do {
                unsafe try flight.inPieces(of: size) { piece in
                    unsafe try target.receive(piece) { unsafe atTarget += $0 }
                }
            } catch {
                require(target.state == .failed, "an error was thrown, but the state is \(target.state)")
                refusesAll(target)
                isOver = true
            }
            let answer = takeOutput(of: target)
            do {
                unsafe try answer.inPieces(of: 1 << 20) { piece in
                    unsafe try peer.receive(piece) { unsafe atPeer += $0 }
                }
            } catch {
                // The error may be a consequence of the tampering, because the target was deceived.
            }
            if !isOver { act(command, peer, target, &input, &sentByPeer, &sentByTarget) }
            require(sentByPeer.starts(with: atTarget), "plain text was received that was not sent")
            require(sentByTarget.starts(with: atPeer), "plain text was received that was not sent")
        }
        try? target.receiveEnd()
        target.close()
        peer.close()
        refusesAll(target)
    }

    private func takeOutput(of engine: TLSEngine) -> [UInt8] {
        let bytes = unsafe engine.output.withBytes { unsafe [UInt8]($0) }
        require(bytes.count < 1 << 20, "the output exceeds its bound")
        engine.output.consume(bytes.count)
        return bytes
    }

    /// Checks that an engine that has ended accepts no input and sends nothing, without crashing.
    private func refusesAll(_ engine: TLSEngine) {
        unsafe [UInt8](repeating: 0x17, count: 64).inPieces(of: 64) { piece in
            unsafe try? engine.receive(piece) { _ in fatalError("plain text was received after the end of TLS") }
            do {
                unsafe try engine.write(piece)
                fatalError("a write succeeded after the end of TLS")
            } catch {}
        }
    }

    /// Changes a flight, and returns the size of the pieces in which it arrives.
    private func tamper(_ flight: inout [UInt8], _ command: UInt8, _ input: inout FuzzInput) -> Int {
        let whole = 1 << 20
        switch command & 15 {
        case 1 where !flight.isEmpty:
            flight[input.word() % flight.count] ^= max(1, input.byte())
        case 2 where !flight.isEmpty:
            let start = input.word() % flight.count
            flight.removeSubrange(start..<min(flight.count, start + 1 + Int(input.byte())))
        case 3:
            let place = min(flight.count, input.word())
            flight.insert(contentsOf: input.take(Int(input.byte())), at: place)
        case 4:
            flight.removeLast(max(0, flight.count - input.word()))
        case 5:
            flight = input.take(Int(input.byte()))
        case 6:
            flight += flight
        case 7:
            return 1 + Int(input.byte())
        case 12 where !flight.isEmpty:
            // Overwrites a field, such as a length.
            let place = input.word() % flight.count
            let bytes = input.take(Int(input.byte() & 7)).prefix(flight.count - place)
            flight.replaceSubrange(place..<place + bytes.count, with: bytes)
        case 13:
            flight = []
        default:
            break
        }
        return whole
    }

    private func act(
        _ command: UInt8, _ peer: TLSEngine, _ target: TLSEngine, _ input: inout FuzzInput,
        _ sentByPeer: inout [UInt8], _ sentByTarget: inout [UInt8]
    ) {
        switch command & 15 {
        case 8: send([UInt8](repeating: 0x70, count: Int(input.byte()) * 200), from: peer, &sentByPeer)
        case 9: send([UInt8](repeating: 0x74, count: Int(input.byte()) * 200), from: target, &sentByTarget)
        case 10: peer.updateKeys(askingPeer: true)
        case 11: peer.close()
        case 14: target.updateKeys(askingPeer: input.flag())
        case 15: target.close()
        default: break
        }
    }

    private func send(_ bytes: [UInt8], from engine: TLSEngine, _ sent: inout [UInt8]) {
        do {
            unsafe try bytes.withUnsafeBytes { unsafe try engine.write($0) }
            sent += bytes
        } catch {}
    }
}

/// The certificates of the TLS targets, with fixed keys and dates.
struct FuzzCertificates {
    let authority: CertificateAuthority
    let server: IssuedCertificate
    let client: IssuedCertificate

    var trust: TLSTrust { .only([.text(authority.certificatePEM)]) }

    init() {
        FuzzRandom.install()
        // The validity is from the year 2000 to 2100.
        let always = CertificateValidity(
            notBefore: WallTime(milliseconds: 946_684_800_000), notAfter: WallTime(milliseconds: 4_102_444_800_000))
        do {
            authority = try CertificateAuthority(commonName: "Fuzz Root", validity: always)
            server = try authority.issue(
                CertificateRequest(
                    commonName: "localhost", usage: .server, dnsNames: ["localhost"], ipAddresses: ["::1"],
                    validity: always))
            client = try authority.issue(
                CertificateRequest(
                    commonName: "Client", usage: .client, userID: "com.example.app", validity: always))
        } catch {
            fatalError("certificates for fuzzing: \(error)")
        }
    }
}

/// A replacement for the random numbers of OpenSSL.
enum FuzzRandom {
    // libFuzzer uses one thread.
    nonisolated(unsafe) private static var state: UInt64 = 0

    static func install() {
        restart()
        let result = unsafe CFuzz_set_random { bytes, count in
            for index in 0..<Int(count) {
                unsafe bytes?[index] = FuzzRandom.next()
            }
            return 1
        }
        require(result == 1, "OpenSSL did not accept the random number generator")
    }

    static func restart() { unsafe state = 1 }

    private static func next() -> UInt8 {
        unsafe state = unsafe state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return unsafe UInt8(truncatingIfNeeded: state >> 56)
    }
}
