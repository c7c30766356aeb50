private import CNGHTTP2
private import COpenSSL
private import CZeroMQ

/// The versions of the libraries of this module, as the loaded libraries report them.
package enum TransportLibraries {
    package static var openSSL: String {
        unsafe OpenSSL_version(OPENSSL_VERSION_STRING).map { unsafe String(cString: $0) } ?? "unknown"
    }

    package static var nghttp2: String {
        guard let info = unsafe nghttp2_version(0) else { return "unknown" }
        return unsafe String(cString: info.pointee.version_str)
    }

    package static var zeroMQ: String {
        var (major, minor, patch): (CInt, CInt, CInt) = (0, 0, 0)
        unsafe zmq_version(&major, &minor, &patch)
        return "\(major).\(minor).\(patch)"
    }
}
