private import COpenSSL

/// AES-128-GCM and AES-256-GCM, by the length of the key, for single messages that arrive whole.
package enum AESGCM {
    package static let shortKeyLength = 16
    package static let longKeyLength = 32
    package static let nonceLength = 12
    package static let tagLength = 16

    /// Encrypts a message. The tag follows the encrypted bytes.
    ///
    /// - Parameter bound: Additional data without which the message does not open.
    package static func seal(_ message: [UInt8], bound: [UInt8] = [], key: [UInt8], nonce: [UInt8]) -> [UInt8] {
        precondition(isFit(key, nonce: nonce), "a key or nonce has the wrong length")
        let context = CipherHandle()
        var sealed = [UInt8](repeating: 0, count: message.count)
        var tag = [UInt8](repeating: 0, count: tagLength)
        var length: CInt = 0
        let isSealed =
            unsafe EVP_EncryptInit_ex2(context.pointer, cipher(for: key), key, nonce, nil) == 1
            && EVP_EncryptUpdate(context.pointer, nil, &length, bound, CInt(clamping: bound.count)) == 1
            && EVP_EncryptUpdate(context.pointer, &sealed, &length, message, CInt(clamping: message.count)) == 1
            && EVP_EncryptFinal_ex(context.pointer, &tag, &length) == 1
            && EVP_CIPHER_CTX_ctrl(context.pointer, EVP_CTRL_AEAD_GET_TAG, CInt(tagLength), &tag) == 1
        precondition(isSealed, "OpenSSL refuses AES-GCM")
        return sealed + tag
    }

    /// Decrypts a message with its tag. Returns nil if the key, the nonce or the additional data is another one, or if a
    /// byte was changed.
    package static func open(_ sealed: [UInt8], bound: [UInt8] = [], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        guard isFit(key, nonce: nonce), sealed.count >= tagLength else { return nil }
        let encrypted = Array(sealed.dropLast(tagLength))
        var tag = Array(sealed.suffix(tagLength))
        let context = CipherHandle()
        OpenSSLErrors.clear()
        defer { OpenSSLErrors.clear() }
        var message = [UInt8](repeating: 0, count: encrypted.count)
        var rest = [UInt8](repeating: 0, count: tagLength)
        var length: CInt = 0
        let isOpen =
            unsafe EVP_DecryptInit_ex2(context.pointer, cipher(for: key), key, nonce, nil) == 1
            && EVP_DecryptUpdate(context.pointer, nil, &length, bound, CInt(clamping: bound.count)) == 1
            && EVP_DecryptUpdate(context.pointer, &message, &length, encrypted, CInt(clamping: encrypted.count)) == 1
            && EVP_CIPHER_CTX_ctrl(context.pointer, EVP_CTRL_AEAD_SET_TAG, CInt(tagLength), &tag) == 1
            && EVP_DecryptFinal_ex(context.pointer, &rest, &length) == 1
        if isOpen { return message }
        wipe(&message)
        return nil
    }

    private static func isFit(_ key: [UInt8], nonce: [UInt8]) -> Bool {
        (key.count == shortKeyLength || key.count == longKeyLength) && nonce.count == nonceLength
    }

    private static func cipher(for key: [UInt8]) -> OpaquePointer? {
        unsafe key.count == shortKeyLength ? EVP_aes_128_gcm() : EVP_aes_256_gcm()
    }
}
