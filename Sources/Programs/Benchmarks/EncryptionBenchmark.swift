import PushTransport

enum EncryptionBenchmark {
    /// Measures the encryption of messages for browsers, and the part of it that nothing can avoid: a key pair and an
    /// agreement.
    static func run(_ arguments: [String]) async throws -> [Figure] {
        let count = arguments.first.flatMap { Int($0) } ?? 20_000
        let publicKey = try ES256PrivateKey.generate().publicKey.point
        let secret = SecureRandom.bytes(MessageEncryptor.secretLength)
        let curve = CurveArithmetic()
        let encryptor = MessageEncryptor()
        var done = 0

        func measured(_ name: String, work: () -> Bool) -> Figure {
            let before = processCPU()
            for _ in 0..<count where work() { done += 1 }
            return Figure(name: name, value: microseconds(since: before, for: count), unit: "µs")
        }
        var ownKey = [UInt8](repeating: 0, count: 65)
        var agreed = [UInt8](repeating: 0, count: 32)
        let agree = {
            publicKey.withUnsafeBytes { publicKey in
                ownKey.withUnsafeMutableBufferPointer { ownKey in
                    agreed.withUnsafeMutableBufferPointer { agreed in
                        curve.agree(
                            with: publicKey, privateKey: nil, ownKey: ownKey.baseAddress!, secret: agreed.baseAddress!)
                    }
                }
            }
        }
        func encrypt(_ message: [UInt8], padding: Int) -> Bool {
            publicKey.withUnsafeBytes { publicKey in
                secret.withUnsafeBytes { secret in
                    encryptor.encrypt(message, padding: padding, publicKey: publicKey, secret: secret) != nil
                }
            }
        }
        let short = [UInt8](repeating: 0x61, count: 200)
        let long = [UInt8](repeating: 0x61, count: 3993)
        // The first of them also warms the tables of OpenSSL.
        for _ in 0..<1000 { _ = agree() }
        var figures = [
            measured("a key pair and an agreement", work: agree),
            measured("a message of 200 bytes, padded to 256") { encrypt(short, padding: 56) },
            measured("a message of 3,993 bytes") { encrypt(long, padding: 0) },
        ]
        guard done == 3 * count else { throw WrongResult() }
        figures.append(
            Figure(name: "a message over the agreement", value: figures[1].value / figures[0].value, unit: "times"))
        return figures
    }

    private struct WrongResult: Error {}
}
