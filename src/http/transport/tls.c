/* TLS by OpenSSL, on memory: what comes is put into one BIO, what must go is taken from another. */
#include "http/transport/tls.h"
#include "base/diag.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 16384 };

struct pawl__tls_context {
    SSL_CTX *ssl;
    char *cert, *key;
};

struct pawl__tls {
    SSL *ssl;
    BIO *in, *out; /* the SSL's */
};

/* Of TLS 1.2: forward secrecy, and encryption that authenticates. Those of TLS 1.3 all are. */
static const char ciphers_12[] = "ECDHE+AESGCM:ECDHE+CHACHA20";

/* OpenSSL's newest complaint, in `text`. */
static const char *complaint(char *text, size_t len)
{
    unsigned long code = ERR_get_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    snprintf(text, len, "%s", reason ? reason : "unknown reason");
    return text;
}

static enum pawl_err load(const char *cert, const char *key, SSL_CTX **out, struct pawl_diag *diag)
{
    char why[128];
    SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());
    if (!ssl) return pawl__fail_nomem(diag);
    SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    if (SSL_CTX_set_cipher_list(ssl, ciphers_12) != 1) {
        SSL_CTX_free(ssl);
        return pawl__fail(diag, PAWL_ERR_UNSUPPORTED, "OpenSSL has none of the ciphers \"%s\"",
                          ciphers_12);
    }
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS); // an idle connection should be small
    enum pawl_err err = PAWL_OK;
    if (SSL_CTX_use_certificate_chain_file(ssl, cert) != 1) {
        err = pawl__fail_field(diag, PAWL_ERR_ARG, "tls-cert",
                               "could not use the certificate \"%s\": %s", cert,
                               complaint(why, sizeof why));
    } else if (SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1 ||
               SSL_CTX_check_private_key(ssl) != 1) {
        err = pawl__fail_field(diag, PAWL_ERR_ARG, "tls-key", "could not use the key \"%s\": %s",
                               key, complaint(why, sizeof why));
    }
    if (err) {
        SSL_CTX_free(ssl);
        return err;
    }
    *out = ssl;
    return PAWL_OK;
}

enum pawl_err pawl__tls_context_new(const char *cert, const char *key,
                                    struct pawl__tls_context **out, struct pawl_diag *diag)
{
    assert(cert && key && out);
    struct pawl__tls_context *context = calloc(1, sizeof *context);
    if (!context) return pawl__fail_nomem(diag);
    context->cert = strdup(cert);
    context->key = strdup(key);
    enum pawl_err err = context->cert && context->key ? load(cert, key, &context->ssl, diag)
                                                      : pawl__fail_nomem(diag);
    if (err) {
        pawl__tls_context_free(context);
        return err;
    }
    *out = context;
    return PAWL_OK;
}

enum pawl_err pawl__tls_context_reload(struct pawl__tls_context *context, struct pawl_diag *diag)
{
    SSL_CTX *fresh;
    enum pawl_err err = load(context->cert, context->key, &fresh, diag);
    if (err) return err;
    SSL_CTX_free(context->ssl); // connections that use it keep it
    context->ssl = fresh;
    return PAWL_OK;
}

void pawl__tls_context_free(struct pawl__tls_context *context)
{
    if (!context) return;
    SSL_CTX_free(context->ssl);
    free(context->cert);
    free(context->key);
    free(context);
}

struct pawl__tls *pawl__tls_new(struct pawl__tls_context *context)
{
    struct pawl__tls *tls = calloc(1, sizeof *tls);
    if (!tls) return NULL;
    tls->ssl = SSL_new(context->ssl);
    tls->in = BIO_new(BIO_s_mem());
    tls->out = BIO_new(BIO_s_mem());
    if (!tls->ssl || !tls->in || !tls->out) {
        BIO_free(tls->in);
        BIO_free(tls->out);
        SSL_free(tls->ssl);
        free(tls);
        return NULL;
    }
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    SSL_set_accept_state(tls->ssl);
    return tls;
}

void pawl__tls_free(struct pawl__tls *tls)
{
    if (!tls) return;
    SSL_free(tls->ssl);
    free(tls);
}

static void take_out(struct pawl__tls *tls, struct pawl__buf *out)
{
    char *at;
    long len = BIO_get_mem_data(tls->out, &at);
    if (len > 0) pawl__buf_add(out, at, (size_t)len);
    BIO_reset(tls->out);
}

bool pawl__tls_take(struct pawl__tls *tls, const char *at, size_t len, struct pawl__buf *plain,
                    struct pawl__buf *out)
{
    char piece[PIECE_BYTES];
    bool ok = BIO_write(tls->in, at, (int)len) == (int)len;
    int got = 0;
    while (ok && (got = SSL_read(tls->ssl, piece, sizeof piece)) > 0) { // shakes hands, too
        pawl__buf_add(plain, piece, (size_t)got);
    }
    if (ok && got <= 0) {
        int why = SSL_get_error(tls->ssl, got);
        ok = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
    }
    ERR_clear_error();
    take_out(tls, out);
    return ok && !plain->failed && !out->failed;
}

bool pawl__tls_put(struct pawl__tls *tls, const char *at, size_t len, struct pawl__buf *out)
{
    bool ok = !len || SSL_write(tls->ssl, at, (int)len) == (int)len;
    ERR_clear_error();
    take_out(tls, out);
    return ok && !out->failed;
}

void pawl__tls_end(struct pawl__tls *tls, struct pawl__buf *out)
{
    if (SSL_is_init_finished(tls->ssl)) SSL_shutdown(tls->ssl);
    ERR_clear_error();
    take_out(tls, out);
}
